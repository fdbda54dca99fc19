package contracts_test

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// TestMain makes the tests use the zones that Go includes, as in an image
// without a zone database, and not those of the machine.
func TestMain(m *testing.M) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	goDatabase = filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip")
	if err := os.Setenv("ZONEINFO", goDatabase); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// goDatabase is the path of the database that Go includes.
var goDatabase string

// ianaZones returns every zone of that database, with one name for zones with
// the same rules.
func ianaZones(t *testing.T) []string {
	t.Helper()
	database := must.Get(zip.OpenReader(goDatabase))(t)
	defer database.Close()
	var names []string
	seen := map[string]bool{}
	for _, f := range database.File {
		rules := fmt.Sprint(f.CRC32, f.UncompressedSize64)
		if f.FileInfo().IsDir() || f.Name == "Factory" || seen[rules] {
			continue
		}
		seen[rules] = true
		names = append(names, f.Name)
	}
	return names
}

// TestZoneNames: a zone has its IANA name, and no other file in a folder of
// zones is one (RES-P10).
func TestZoneNames(t *testing.T) {
	for _, name := range []string{
		"", "Local", "localtime", "posixrules", "Factory", "right/Europe/Berlin", "posix/UTC", "./UTC", "Europe//Berlin", "Europe/", "Europe", "/UTC", "UTC/",
		"europe/berlin", "utc", "Europe/Berlin\x00", "Mars/X", "+02:00", "UTC+1", "CEST", "../etc/passwd", "/etc/localtime", "../zoneinfo/UTC", "tzdata.zi",
	} {
		if loc, err := contracts.LoadZone(name); err == nil {
			t.Errorf("%q is taken for the zone %s", name, loc)
		}
	}
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "GMT+0", "EST5EDT", "Asia/Calcutta", "GB"} {
		loc, err := contracts.LoadZone(name)
		if err != nil || loc.String() != name {
			t.Errorf("%q: %s, %v", name, loc, err)
		}
	}
}

// firstInstant finds the beginning of a day by checking the zone's calendar
// minute by minute: the first minute that is on this day or a later one. It
// starts three hours before midnight by the clocks of the day before.
func firstInstant(day time.Time, loc *time.Location) time.Time {
	_, offset := day.Add(-15 * time.Hour).In(loc).Zone()
	at := day.Add(-time.Duration(offset)*time.Second - 3*time.Hour)
	if !civilDate(at.In(loc)).Before(day) { // the clocks were changed by a day
		at = day.Add(-15 * time.Hour)
	}
	for ; civilDate(at.In(loc)).Before(day); at = at.Add(time.Minute) {
	}
	return at
}

func civilDate(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// TestDaysAtEveryTransition walks all IANA zones and all their transitions from
// 2015 to 2035 and compares the days around each with the calendar: RES-02a,
// RES-02b, RES-P08a.
func TestDaysAtEveryTransition(t *testing.T) {
	var (
		begin, end = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
		zones      = ianaZones(t)
		lengths    = map[time.Duration]int{}

		transitions, missing, repeated int
	)
	bounds := func(day time.Time, loc *time.Location) contracts.Window {
		from := must.Get(contracts.ParseLower(day.Format(time.DateOnly), loc))(t)
		to := must.Get(contracts.ParseUpper(day.Format(time.DateOnly), loc))(t)
		return contracts.Window{From: from, To: to}.Whole()
	}
	for _, name := range zones {
		loc, err := contracts.LoadZone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for at := begin; ; {
			before, next := contracts.OffsetAt(at, loc)
			if next.IsZero() || !next.Before(end) {
				break
			}
			at = next
			if after, _ := contracts.OffsetAt(at, loc); after == before { // the end of a year
				continue
			}
			transitions++
			eve := civilDate(at.Add(-time.Second).In(loc))
			for day := eve.AddDate(0, 0, -1); !day.After(civilDate(at.In(loc)).AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) {
				got := bounds(day, loc)
				want := contracts.Window{From: firstInstant(day, loc), To: firstInstant(day.AddDate(0, 0, 1), loc).Add(-time.Millisecond)}
				if !got.From.Equal(want.From) || !got.To.Equal(want.To) {
					t.Errorf("%s in %s: %s to %s, want %s to %s", day.Format(time.DateOnly), name, got.From, got.To, want.From, want.To)
				}
				lengths[got.Length()+time.Millisecond]++
				switch first := got.From.In(loc); {
				case first.Hour() != 0 || first.Minute() != 0:
					missing++
				default:
					if later := first.Add(time.Hour); civilDate(later).Equal(day) && later.Hour() == 0 || civilDate(first.Add(30*time.Minute)).Before(day) {
						repeated++
					}
				}
			}
		}
	}
	t.Logf("%d zones, %d transitions, %d missing midnights, %d repeated ones, days by length: %v", len(zones), transitions, missing, repeated, lengths)
	if len(zones) < 250 || transitions < 5000 || missing < 50 || repeated < 50 || lengths[23*time.Hour] < 1000 || lengths[25*time.Hour] < 1000 {
		t.Error("these are not all zones with all their transitions")
	}
}
