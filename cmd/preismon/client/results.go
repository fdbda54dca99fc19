package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// Results is a read of results.
type Results struct {
	// Params are parameters of GET /v1/results without limit and cursor.
	Params url.Values
	// Stream reads by streams, which is faster for many rows; false: by pages.
	Stream bool
	// Most ends a read by pages after so many rows; 0 reads all.
	Most int64
	// Row receives one result at a time, a JSON object that is valid until it
	// returns. Its error ends the read.
	Row func(row []byte) error
	// Table receives the results instead of Row.
	Table Table
	// Passed, if set, is told how many more rows were received.
	Passed func(rows int)
}

// form returns how the read's answers are read.
func (r *Results) form() form {
	if r.Table != nil {
		return tables{r.Table}
	}
	return rowByRow{r.Row}
}

// Part is a part of a read that could not be read.
type Part struct {
	Site   string           // empty: all of the read
	Window contracts.Window // open where that of the read is
	Err    error
}

// Incomplete is a read that returned rows, but not all of them.
type Incomplete struct {
	Rows    int64 // returned
	Missing []Part
}

func (e *Incomplete) Error() string {
	lines := []string{fmt.Sprintf("the answer is incomplete: %d rows, but not", e.Rows)}
	for _, m := range e.Missing {
		what := "what follows them"
		if m.Site != "" {
			what = "site " + m.Site
		}
		if !m.Window.From.IsZero() {
			what += " from " + Instant(m.Window.From)
		}
		if !m.Window.To.IsZero() {
			what += " to " + Instant(m.Window.To)
		}
		lines = append(lines, fmt.Sprintf("  %s: %v", what, m.Err))
	}
	return strings.Join(lines, "\n")
}

func (e *Incomplete) Unwrap() (all []error) {
	for _, m := range e.Missing {
		all = append(all, m.Err)
	}
	return all
}

// Results passes each result on once. A read that is refused as too broad or
// takes too long is split into slices of its window, of 24, 12, 6 and 1 hour,
// and site by site if that does not help; then the order is by site first. An
// *Incomplete error says what is missing; any other error means that there are
// no rows.
func (c *Client) Results(ctx context.Context, r Results) error {
	s := &slicer{c: c, read: r}
	broad, err := s.walk(ctx, r.Params)
	if broad {
		refusal := err
		var w contracts.Window
		if w, err = s.window(ctx); err == nil {
			err = s.narrow(ctx, r.Params, w, refusal)
		}
	}
	if mine, ok := errors.AsType[*OutputError](err); ok {
		return mine.Err
	}
	switch {
	case s.rows == 0 && err == nil && len(s.missing) == 1:
		return s.missing[0].Err
	case s.rows == 0 && err != nil:
		return err
	case err != nil:
		s.missing = append(s.missing, Part{Err: err})
	}
	if len(s.missing) > 0 {
		return &Incomplete{s.rows, s.missing}
	}
	return nil
}

// slicer does one read in as many smaller ones as necessary.
type slicer struct {
	c       *Client
	read    Results
	rows    int64
	missing []Part
	sites   []string // after they were requested
}

// walk does one read; broad means that it was refused before its first row, and
// that a smaller one may succeed.
func (s *slicer) walk(ctx context.Context, params url.Values) (broad bool, err error) {
	w := &walk{c: s.c, params: params, stream: s.read.Stream, form: s.read.form(), passed: s.read.Passed}
	if s.read.Most > 0 {
		if w.most = s.read.Most - s.rows; w.most <= 0 {
			return false, nil
		}
	}
	err = w.run(ctx)
	s.rows += w.rows
	return w.rows == 0 && TooBroad(err), err
}

// TooBroad reports whether a smaller read may succeed.
func TooBroad(err error) bool {
	return slices.Contains([]string{"RESULTS_SCOPE_TOO_BROAD", "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD", "RESULTS_QUERY_TIMEOUT"}, codeOf(err))
}

// steps are the lengths of slices, in the order in which they are tried
// (GEN-G3).
var steps = []time.Duration{24 * time.Hour, 12 * time.Hour, 6 * time.Hour, time.Hour}

// smaller returns the slice length to try after one of some length was refused;
// 0: none is left.
func smaller(than time.Duration) time.Duration {
	for _, step := range steps {
		if step < than {
			return step
		}
	}
	return 0
}

// narrow reads in slices what was refused in one piece.
func (s *slicer) narrow(ctx context.Context, params url.Values, w contracts.Window, refusal error) error {
	step, helped := smaller(s.length(w)), false
	if w.From.IsZero() || step == 0 {
		return s.bySite(ctx, params, w, refusal)
	}
	for rest := &w; rest != nil; {
		piece, after := cut(*rest, step, params.Get("sort") == "asc", s.c.now())
		broad, err := s.walk(ctx, bounded(params, piece, s.c.now()))
		switch next := smaller(min(step, s.length(piece))); {
		case err == nil:
			helped = true
		case !broad:
			return err
		case next > 0:
			s.c.notice("Refused as too broad. Reading slices of %v.", next)
			step = next
			continue
		case !helped && !params.Has("site"):
			return s.bySite(ctx, params, *rest, err)
		default:
			if err := s.bySite(ctx, params, piece, err); err != nil {
				return err
			}
		}
		rest = after
	}
	return nil
}

// bySite reads a window site by site; what fails at one site is recorded as
// missing, and the others are read (GEN-G4).
func (s *slicer) bySite(ctx context.Context, params url.Values, w contracts.Window, refusal error) error {
	if site := params.Get("site"); site != "" {
		s.miss(Part{site, w, refusal}, params.Get("sort") == "asc")
		return nil
	}
	if s.sites == nil {
		for row, err := range s.c.List(ctx, "/v1/sites", nil) {
			var record struct{ Site string }
			if err == nil {
				err = json.Unmarshal(row, &record)
			}
			if err != nil {
				return fmt.Errorf("the read is too broad, and the sites by which to split it cannot be read: %w", err)
			}
			s.sites = append(s.sites, record.Site)
		}
	}
	if len(s.sites) == 0 {
		return refusal
	}
	s.c.notice("Reading site by site, %d sites.", len(s.sites))
	for _, site := range s.sites {
		one := bounded(params, w, s.c.now())
		one.Del("globalScope")
		one.Set("site", site)
		broad, err := s.walk(ctx, one)
		if broad {
			err = s.narrow(ctx, one, w, err)
		}
		switch code := codeOf(err); {
		case err == nil:
		case code == "" || Expired(err): // the next site would fail too
			return err
		default:
			s.missing = append(s.missing, Part{site, w, err})
		}
	}
	return nil
}

// miss records a missing part; adjacent parts are merged.
func (s *slicer) miss(p Part, asc bool) {
	if n := len(s.missing); n > 0 && s.missing[n-1].Site == p.Site {
		last := &s.missing[n-1].Window
		switch {
		case asc && last.To.Add(contracts.Resolution).Equal(p.Window.From):
			last.To = p.Window.To
			return
		case !asc && p.Window.To.Add(contracts.Resolution).Equal(last.From):
			last.From = p.Window.From
			return
		}
	}
	s.missing = append(s.missing, p)
}
