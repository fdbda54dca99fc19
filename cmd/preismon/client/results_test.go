package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// span is the length of the window that a query names; 0: it names none.
func span(q url.Values) time.Duration {
	from, err1 := time.Parse(time.RFC3339, q.Get("capturedFrom"))
	to, err2 := time.Parse(time.RFC3339, q.Get("capturedTo"))
	if err1 != nil || err2 != nil {
		return 0
	}
	return to.Sub(from) + time.Millisecond
}

// TestSlices: a refused read is split into slices of 24, 12, 6 and 1 hour, then
// read site by site, and each row appears once (GEN-G3, GEN-G4, RES-12).
func TestSlices(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	week := url.Values{"globalScope": {"true"}, "capturedFrom": {"2026-03-01"}, "capturedTo": {"2026-03-08T23:00:00+01:00"}}
	open := url.Values{"itemId": {"1"}, "capturedFrom": {began.Format(time.RFC3339)}}
	upTo := func(most time.Duration) func(string, url.Values) string {
		return func(_ string, q url.Values) string {
			if s := span(q); s == 0 || s > most {
				return "RESULTS_SCOPE_TOO_BROAD"
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		params  url.Values
		refuse  func(path string, q url.Values) string
		asked   int  // reads of results
		bySite  bool // the order is by site first
		missing string
	}{
		"a day at a time": {params: week, refuse: upTo(day + time.Millisecond), asked: 1 + 8},
		"half a day":      {params: week, refuse: upTo(13 * time.Hour), asked: 2 + 16},
		"an hour":         {params: week, refuse: upTo(2 * time.Hour), asked: 4 + 190},
		"too slow at first": {params: week, refuse: func(_ string, q url.Values) string {
			if s := span(q); s == 0 || s > 7*time.Hour {
				return "RESULTS_QUERY_TIMEOUT"
			}
			return ""
		}, asked: 3 + 32},
		"site by site": {params: week, refuse: func(_ string, q url.Values) string {
			if q.Get("site") == "" {
				return "RESULTS_SCOPE_TOO_BROAD"
			}
			return ""
		}, asked: 5 + 3, bySite: true},
		"latest": {params: url.Values{"latestPerPair": {"true"}}, refuse: func(_ string, q url.Values) string {
			if q.Get("site") == "" {
				return "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD"
			}
			return ""
		}, asked: 1 + 3, bySite: true},
		"one site fails": {params: week, refuse: func(_ string, q url.Values) string {
			if q.Get("site") == "" || q.Get("site") == "b" {
				return "RESULTS_SCOPE_TOO_BROAD"
			}
			return ""
		}, bySite: true, missing: "site b from 2026-03-01T00:00:00.000Z to 2026-03-08T22:00:00.000Z: Because. (RESULTS_SCOPE_TOO_BROAD)"},
		"open above": {params: open, refuse: func(_ string, q url.Values) string {
			if q.Get("capturedFrom") == open.Get("capturedFrom") && q.Get("capturedTo") == "" {
				return "RESULTS_SCOPE_TOO_BROAD"
			}
			return ""
		}},
	} {
		for _, way := range []struct {
			sort   string
			stream bool
		}{{"asc", true}, {"desc", false}} {
			t.Run(fmt.Sprint(name, " ", way.sort), func(t *testing.T) {
				t.Parallel()
				s := &shop{t: t, rows: tied(3_700, 114*time.Minute, "a", "b", "c"), sites: []string{"a", "b", "c"}, refuse: c.refuse}
				for i := range s.rows { // also at the very edges of slices
					s.rows[i].at = s.rows[i].at.Truncate(time.Hour).Add(-time.Millisecond * time.Duration(i%2))
				}
				slices.SortStableFunc(s.rows, func(a, b row) int { return a.at.Compare(b.at) })
				params := url.Values{"sort": {way.sort}}
				for name, values := range c.params {
					params[name] = values
				}
				cl := unchecked(t, s.serve().URL)
				got, err := read(t, cl, client.Results{Params: params, Stream: way.stream})
				asked := url.Values{"sort": {way.sort}}
				if params.Has("capturedFrom") {
					asked.Set("capturedFrom", began.Format(time.RFC3339))
				}
				if params.Has("capturedTo") {
					asked.Set("capturedTo", "2026-03-08T22:00:00Z")
				}
				want := s.want(asked)
				if c.missing != "" {
					var part *client.Incomplete
					if !errors.As(err, &part) || !strings.Contains(err.Error(), c.missing) || len(part.Missing) != 1 || part.Rows != int64(len(got)) {
						t.Errorf("error %v", err)
					}
					want = slices.DeleteFunc(want, func(item int) bool { return (item-1)%3 == 1 })
				} else if err != nil {
					t.Fatal(err)
				}
				if c.bySite {
					slices.SortStableFunc(want, func(a, b int) int { return (a-1)%3 - (b-1)%3 })
				}
				equals.Check(t, want, got)
				if n := s.first("/v1/results?"); c.asked > 0 && n != c.asked {
					t.Errorf("%d reads, want %d", n, c.asked)
				}
			})
		}
	}
}

// first counts the reads that begin a walk.
func (s *shop) first(prefix string) (n int) {
	for _, asked := range s.asked {
		if strings.HasPrefix(asked, prefix) && !strings.Contains(asked, "cursor=") {
			n++
		}
	}
	return n
}

// TestImplicitWindow: a read without bounds is sliced over the window that the
// server reports (RES-05a), and one without a selector then needs globalScope
// (RES-03a, RES-04a).
func TestImplicitWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params url.Values
		length time.Duration
		global bool
	}{
		"product": {url.Values{"ean": {"4006381333931"}}, 168 * time.Hour, false},
		"site":    {url.Values{"site": {"a"}}, 30 * time.Hour, false},
		"all":     {url.Values{}, 30 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{t: t, rows: nil}
			var from, to []time.Time
			s.refuse = func(_ string, q url.Values) string {
				if q.Get("capturedFrom") == "" {
					return "RESULTS_QUERY_TIMEOUT"
				}
				if (q.Get("globalScope") == "true") != c.global || c.global && q.Get("capturedTo") == "" {
					t.Errorf("asked %v", q)
				}
				at, _ := time.Parse(time.RFC3339, q.Get("capturedFrom"))
				from = append(from, at)
				if at, err := time.Parse(time.RFC3339, q.Get("capturedTo")); err == nil {
					to = append(to, at)
				}
				return ""
			}
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/v1/results/capabilities" {
					return false
				}
				_, _ = w.Write([]byte(`{"coreFields":["itemId"],"includeGroups":{},"window":{"productHistoryHours":168,"defaultHours":30}}`))
				return true
			}
			must.Get(read(t, unchecked(t, s.serve().URL), client.Results{Params: c.params}))(t)
			slices.SortFunc(from, time.Time.Compare)
			if len(from) == 0 || time.Since(from[0])-c.length > 5*time.Second || time.Since(from[0])-c.length < -5*time.Second {
				t.Errorf("slices from %v", from)
			}
			slices.SortFunc(to, time.Time.Compare)
			for i, end := range to[:len(from)-1] {
				if !end.Add(time.Millisecond).Equal(from[i+1]) {
					t.Errorf("a slice ends at %v, the next begins at %v", end, from[i+1])
				}
			}
		})
	}
}

// TestNewestDayRefused: when a day that is open above is refused, shorter slices
// are read, also if requests take minutes, so that the day is longer by then.
func TestNewestDayRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most  time.Duration // longer reads are refused
		least int           // reads that are not
	}{
		"half a day is read": {13 * time.Hour, 2},
		"an hour is read":    {2 * time.Hour, 24},
		"nothing is read":    {0, 0},
	} {
		for _, takes := range []time.Duration{0, 2 * time.Minute} {
			t.Run(fmt.Sprint(name, " ", takes), func(t *testing.T) {
				t.Parallel()
				s := &shop{t: t}
				asked, read := 0, 0
				now := func() time.Time { return time.Now().Add(time.Duration(asked) * takes) }
				params := url.Values{"site": {"a"}, "capturedFrom": {now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)}}
				s.before = func(w http.ResponseWriter, _ *http.Request) bool {
					asked++
					w.Header().Set("Date", now().UTC().Format(http.TimeFormat))
					return false
				}
				s.refuse = func(_ string, q url.Values) string {
					long := span(q)
					if from, err := time.Parse(time.RFC3339, q.Get("capturedFrom")); long == 0 && err == nil {
						long = now().Sub(from)
					}
					switch {
					case asked > 40:
						return "INTERNAL_ERROR"
					case long > c.most:
						return "RESULTS_SCOPE_TOO_BROAD"
					}
					read++
					return ""
				}
				err := unchecked(t, s.serve().URL).Results(t.Context(), client.Results{Params: params})
				if (err == nil) != (c.least > 0) || err != nil && !strings.Contains(err.Error(), "RESULTS_SCOPE_TOO_BROAD") || read < c.least {
					t.Errorf("%d reads, %d not refused: %v", asked, read, err)
				}
			})
		}
	}
}

// TestRowFails: an error of the function that receives the rows ends the read
// and is returned unchanged.
func TestRowFails(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, rows: tied(500, time.Second, "a")}
	c, _ := s.client(s.serve().URL)
	full := errors.New("disk full")
	for _, after := range []int{0, 50, 300} {
		n := 0
		err := c.Results(t.Context(), client.Results{Stream: true, Row: func([]byte) error {
			if n++; n > after {
				return full
			}
			return nil
		}})
		if err != full || n != after+1 {
			t.Errorf("after %d rows: %v", n, err)
		}
	}
}
