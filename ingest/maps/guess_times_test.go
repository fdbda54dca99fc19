package maps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestGuessedTimes: times are read in the forms that spreadsheets and people write,
// and what a form could mean otherwise is said.
func TestGuessedTimes(t *testing.T) {
	for name, c := range map[string]struct {
		rows    []string // dates, or dates and times of day; the last row's time is
		want    string
		assumed string // empty: nothing about the form
	}{
		"two digits":      {[]string{"27/11/26", "29/11/26"}, "2026-11-29T11:00:00Z", ""},
		"either":          {[]string{"03/04/26"}, "2026-04-03T10:00:00Z", `may have the month first: assuming that the day is first (columns.capturedAt.layouts: "1/2/06")`},
		"month first":     {[]string{"03/04/26", "11/28/26"}, "2026-11-28T11:00:00Z", ""},
		"clock":           {[]string{"11/28/26 14:05"}, "2026-11-28T13:05:00Z", ""},
		"hyphens":         {[]string{"29-11-26"}, "2026-11-29T11:00:00Z", `dates like "29-11-26" may have the year first: assuming that it is last (columns.capturedAt.layouts: "06-1-2")`},
		"long hyphens":    {[]string{"11-28-2026 14:05"}, "2026-11-28T13:05:00Z", ""},
		"dots":            {[]string{"03.04.26", "11.28.26"}, "2026-11-28T11:00:00Z", ""},
		"serial":          {[]string{"46354", "46355"}, "2026-11-29T11:00:00Z", `numbers like "46354" are read as days since 1900`},
		"serial hour":     {[]string{"46355,5868055556"}, "2026-11-29T13:05:00Z", "are read as days"},
		"English":         {[]string{"Nov 29 2026"}, "2026-11-29T11:00:00Z", ""},
		"English, long":   {[]string{"November 29, 2026 2:05 PM"}, "2026-11-29T13:05:00Z", ""},
		"English, hyphen": {[]string{"29-Nov-26"}, "2026-11-29T11:00:00Z", ""},
		"German":          {[]string{"1. Mai 2026", "1. Oktober 2026", "29. März 2026"}, "2026-03-29T10:00:00Z", ""},
		"German, short":   {[]string{"1. Dez. 2025", "1. Okt. 2026, 14:05 Uhr"}, "2026-10-01T12:05:00Z", "several forms"},
		"o'clock":         {[]string{"29.11.2026;14:05 Uhr"}, "2026-11-29T13:05:00Z", ""},
		"o'clock, dot":    {[]string{"2026-11-29;14.05 Uhr"}, "2026-11-29T13:05:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := "Shop;SKU;Preis;Datum"
			if strings.Contains(c.rows[0], ";") {
				text += ";Uhrzeit"
			}
			for _, row := range c.rows {
				text += "\nladen.de;A1;1,50;" + row
			}
			file := filepath.Join(t.TempDir(), "times.csv")
			must.Do(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
			g := must.Get(maps.GuessMapping(file, "", guessNow.AddDate(0, 0, 10)))(t)
			if got := g.Rows[len(g.Rows)-1]; got.CapturedAt != c.want {
				t.Errorf("%+v, want %s\n%s", got, c.want, g.Text)
			}
			all := strings.Join(g.Assumptions, "\n")
			if !strings.Contains(all, c.assumed) || c.assumed == "" && (strings.Contains(all, "first") || strings.Contains(all, "numbers")) {
				t.Errorf("assumed:\n%s", all)
			}
		})
	}
}

// TestClockBesideTheFilesDay: a time of day with its word goes with the day in the
// file's name.
func TestClockBesideTheFilesDay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "preise-2026-11-20.csv")
	must.Do(t, os.WriteFile(file, []byte("Shop;SKU;Preis;Uhrzeit\nladen.de;A1;1,50;14:05 Uhr\n"), 0o600))
	g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
	if got := g.Rows[0].CapturedAt; got != "2026-11-20T13:05:00Z" {
		t.Errorf("%s\n%s", got, g.Text)
	}
}
