package contracts_test

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// TestWindowDays covers the days on which clocks change or dates are special:
// RES-02a, RES-02b.
func TestWindowDays(t *testing.T) {
	for _, c := range []struct {
		zone, from, to string
		length         time.Duration // to the first instant after the window
	}{
		{"UTC", "2026-03-01", "2026-03-01", 24 * time.Hour},
		{"Europe/Berlin", "2024-12-31", "2024-12-31", 24 * time.Hour}, // the time package ends leap years a day early
		{"Europe/Berlin", "2028-12-30", "2029-01-01", 72 * time.Hour},
		{"Europe/Berlin", "2026-03-29", "2026-03-29", 23 * time.Hour},
		{"Europe/Berlin", "2026-10-25", "2026-10-25", 25 * time.Hour},
		{"Europe/Berlin", "2026-10-20", "2026-10-26", 169 * time.Hour},
		{"Europe/Berlin", "2026-03-23", "2026-03-29", 167 * time.Hour},
		{"Europe/Berlin", "2026-06-01", "2026-06-07", 168 * time.Hour},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04", 23 * time.Hour}, // begins at 01:00
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17", 25 * time.Hour}, // ends with 23:xx twice
		{"Asia/Beirut", "2022-03-27", "2022-03-27", 23 * time.Hour},       // midnight is skipped
		{"America/Havana", "2023-11-05", "2023-11-05", 25 * time.Hour},    // 00:xx comes twice
		{"America/St_Johns", "2010-11-06", "2010-11-06", 25 * time.Hour},  // at 00:01 of the 7th the clocks go back to 23:01
		{"America/St_Johns", "2010-11-07", "2010-11-07", 25 * time.Hour},  // so the 7th begins a minute before that
		{"Pacific/Apia", "2011-12-29", "2011-12-31", 48 * time.Hour},      // the 30th does not exist
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-05", 24*time.Hour + 30*time.Minute},
	} {
		loc := must.Get(contracts.LoadZone(c.zone))(t)
		from := must.Get(contracts.ParseLower(c.from, loc))(t)
		to := must.Get(contracts.ParseUpper(c.to, loc))(t)
		if got := (contracts.Window{From: from, To: to}).Whole().Length() + time.Millisecond; got != c.length {
			t.Errorf("%s: %s to %s has %s, want %s", c.zone, c.from, c.to, got, c.length)
		}
	}
}

// TestBadBounds: RES-P08a.
func TestBadBounds(t *testing.T) {
	for _, s := range []string{
		"", "yesterday", "2026-13-01", "2026-02-30", "2026-01-01T10:00:00", "2026-01-01 10:00:00Z", "0000-01-01", "2026-1-1", "2026-01-01T10:00:00,5Z", "1767225600", "2026-01-01T24:00:00Z", "2026-01-01T10:00:00+2:00",
		"2026-11-20T5:00:00Z", "2026-11-20T05:00:00+24:00", "2026-11-20T05:00:00-24:00", "2026-11-20T05:00:00+00:60", "2026-11-20T05:00:00.Z",
	} {
		if at, err := contracts.ParseLower(s, time.UTC); err == nil {
			t.Errorf("%q as a lower bound: %s", s, at)
		}
		if at, err := contracts.ParseUpper(s, time.UTC); err == nil {
			t.Errorf("%q as an upper bound: %s", s, at)
		}
	}
}

// TestGoodBounds: what RFC 3339 allows is accepted (RES-P08a).
func TestGoodBounds(t *testing.T) {
	for _, s := range []string{
		"2026-11-20T05:00:00Z", "2026-11-20t05:00:00z", "2026-11-20T05:00:00.000000Z", "2026-11-20T06:00:00+01:00", "2026-11-19T05:01:00-23:59", "2026-11-20T05:00:00-00:00",
	} {
		if at, err := contracts.ParseLower(s, time.UTC); err != nil || !at.Equal(time.Date(2026, 11, 20, 5, 0, 0, 0, time.UTC)) {
			t.Errorf("%q: %s, %v", s, at, err)
		}
	}
}

// TestBoundsAreNeverOpen: an open end is the zero time, so no text may parse as
// it; otherwise a limit on the window would not hold (RES-04c, LIM-10).
func TestBoundsAreNeverOpen(t *testing.T) {
	for _, s := range []string{
		"0001-01-01", "0001-12-31", "0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0000-12-31T23:00:00-01:00", "0001-01-01T00:00:00.0009Z",
		"0000-12-31T23:59:59.9999Z", "0000-12-31T00:00:00Z", "0001-12-31T23:59:59.999Z",
	} {
		for _, parse := range []func(string, *time.Location) (time.Time, error){contracts.ParseLower, contracts.ParseUpper} {
			if at, err := parse(s, time.UTC); err == nil {
				t.Errorf("%q stands for %s", s, at)
			}
		}
	}
	for _, s := range []string{"0002-01-01", "0002-01-01T00:00:00Z"} {
		for offset := -18; offset <= 18; offset += 6 {
			at, err := contracts.ParseLower(s, time.FixedZone("", offset*3600))
			if err != nil || at.IsZero() {
				t.Errorf("%q: %s, %v", s, at, err)
			}
		}
	}
}

// TestBoundsRoundInward: captures have whole milliseconds, so a finer bound
// includes neither one more nor one less.
func TestBoundsRoundInward(t *testing.T) {
	from, _ := contracts.ParseLower("2026-01-01T00:00:00.0001Z", time.UTC)
	to, _ := contracts.ParseUpper("2026-01-01T00:00:00.0019+00:00", time.UTC)
	if w := (contracts.Window{From: from, To: to}).Whole(); w.From.UnixMilli()%1000 != 1 || w.To.UnixMilli()%1000 != 1 || w.Empty() {
		t.Errorf("%+v", w)
	}
	if w := (contracts.Window{From: from, To: from}); w.Empty() || !w.Whole().Empty() {
		t.Errorf("%+v", w)
	}
}

// TestDaysThatNeverWere: a change of the date line skips a whole day.
func TestDaysThatNeverWere(t *testing.T) {
	for zone, day := range map[string]string{
		"Pacific/Apia": "2011-12-30", "Pacific/Kiritimati": "1994-12-31", "Kwajalein": "1993-08-21", "Asia/Manila": "1844-12-31",
	} {
		loc := must.Get(contracts.LoadZone(zone))(t)
		if contracts.HasDay(day, loc) || !contracts.HasDay(day, time.UTC) || !contracts.HasDay(day+"T00:00:00Z", loc) {
			t.Errorf("%s in %s", day, zone)
		}
	}
	if loc, _ := contracts.LoadZone("America/Sao_Paulo"); !contracts.HasDay("2018-11-04", loc) { // only its midnight is missing
		t.Error("2018-11-04 in Sao Paulo")
	}
}
