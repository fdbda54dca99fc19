package rest_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// windowPage reads results of one item in a window.
func (s *surface) windowPage(from, to, zone string) page {
	s.t.Helper()
	return s.page("/v1/results", url.Values{"itemId": {"11"}, "capturedFrom": {from}, "capturedTo": {to}, "timezone": {zone}}.Encode())
}

// TestWindowsAreComparedAsGiven: bounds that are equal, or closer together than
// captures can be, are a window, whatever their digits; each answer's window
// can be sent back (RES-P08a, RES-P08b).
func TestWindowsAreComparedAsGiven(t *testing.T) {
	s := serve(t)
	at := s.store.rows[0].captured // for item 11
	text := func(finer time.Duration) string { return at.Add(finer).Format(time.RFC3339Nano) }
	us := time.Microsecond
	for _, c := range []struct {
		from, to time.Duration
		rows     int
	}{
		{0, 0, 1}, {us, us, 0}, {us, 9 * us, 0}, {-us, us, 1}, {999 * us, 999*us + 1, 0}, {-1, -1, 0}, {-3 * us, 0, 1}, {1, 999_999, 0},
	} {
		got := s.windowPage(text(c.from), text(c.to), "Europe/Berlin")
		if len(got.Data) != c.rows {
			t.Errorf("%s to %s: %d rows, want %d", c.from, c.to, len(got.Data), c.rows)
		}
		again := s.windowPage(got.Query["capturedFrom"].(string), got.Query["capturedTo"].(string), "Europe/Berlin")
		if len(again.Data) != c.rows || fmt.Sprint(again.Query) != fmt.Sprint(got.Query) {
			t.Errorf("%v sent back: %v", got.Query, again.Query)
		}
	}
	for _, c := range []struct{ from, to time.Duration }{{us, 0}, {9 * us, us}, {1, 0}} {
		s.get("/v1/results?itemId=11&capturedFrom="+text(c.from)+"&capturedTo="+text(c.to), s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	// The last millisecond of a day has instants after its beginning.
	if got := s.windowPage("2026-03-01T23:59:59.9995Z", "2026-03-01", "UTC"); len(got.Data) != 0 {
		t.Errorf("%v", got.Data)
	}
	now := time.Date(2026, 3, 1, 10, 0, 0, 700_000, time.UTC)
	s.clock.frozen = now
	token := s.token(reader)
	s.get("/v1/results?itemId=11&capturedFrom="+now.Format(time.RFC3339Nano), token).is(t, 200)
	s.get("/v1/results?itemId=11&capturedFrom="+now.Add(1).Format(time.RFC3339Nano), token).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
}

// TestTimesCanBeSentBack: an instant is written so that it reads back as
// itself, even where clocks differed from UTC by seconds, or the year has five
// digits (FLD-01b, RES-P10).
func TestTimesCanBeSentBack(t *testing.T) {
	s := serve(t)
	for _, c := range []struct{ zone, from, to string }{
		{"Europe/Berlin", "1850-01-01", "1850-01-02"},
		{"Africa/Monrovia", "1971-06-01T00:00:00Z", "1972-01-01"},
		{"America/New_York", "1800-01-01T12:34:56.789Z", "1883-11-18"},
		{"Asia/Manila", "1840-01-01", "1844-12-30"},
		{"Pacific/Kiritimati", "2026-01-01", "9999-12-31T23:59:59Z"},
		{"Pacific/Pago_Pago", "2026-01-01", "9999-12-31"},
		{"UTC", "2026-01-01", "9999-12-31T23:59:59.999-23:59"},
	} {
		loc := must.Get(contracts.LoadZone(c.zone))(t)
		from := must.Get(contracts.ParseLower(c.from, loc))(t)
		to := must.Get(contracts.ParseUpper(c.to, loc))(t)
		got := s.windowPage(c.from, c.to, c.zone)
		for name, want := range map[string]time.Time{"capturedFrom": from, "capturedTo": to.Truncate(time.Millisecond)} {
			text := got.Query[name].(string)
			if at, err := time.Parse(time.RFC3339Nano, text); err != nil || !at.Equal(want) {
				t.Errorf("%s to %s in %s: %s is %s, want %s (%v)", c.from, c.to, c.zone, name, text, want, err)
			}
		}
		again := s.windowPage(got.Query["capturedFrom"].(string), got.Query["capturedTo"].(string), c.zone)
		if fmt.Sprint(again.Query) != fmt.Sprint(got.Query) {
			t.Errorf("%v sent back: %v", got.Query, again.Query)
		}
	}
}

// TestDaysOfAZone: a day that a zone skipped is named as such; a day whose last
// hour occurs twice ends with the second (RES-02a, RES-02b).
func TestDaysOfAZone(t *testing.T) {
	s := serve(t)
	never := s.get("/v1/results?itemId=11&timezone=Pacific/Apia&capturedFrom=2011-12-30&capturedTo=2011-12-30", s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	if want := "capturedFrom and capturedTo leave no time between them: Pacific/Apia never had the day 2011-12-30."; never.Detail != want {
		t.Errorf("%q, want %q", never.Detail, want)
	}
	if got := s.windowPage("2011-12-30", "2011-12-31", "Pacific/Apia").Query["capturedFrom"]; got != "2011-12-31T00:00:00.000+14:00" {
		t.Errorf("the 30th and the 31st begin at %s", got)
	}
	for zone, day := range map[string][2]string{
		"America/St_Johns":  {"2010-11-06", "2010-11-06T23:59:59.999-03:30"}, // at 00:01 back to 23:01
		"America/Sao_Paulo": {"2018-02-17", "2018-02-17T23:59:59.999-03:00"}, // at 00:00 back to 23:00
	} {
		if got := s.windowPage(day[0], day[0], zone).Query["capturedTo"]; got != day[1] {
			t.Errorf("%s in %s ends at %s, want %s", day[0], zone, got, day[1])
		}
	}
}
