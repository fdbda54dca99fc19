package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
)

// slow is a store that delays each block of results, and stops when its context
// ends.
type slow struct {
	*memory
	delay func(block int) time.Duration
	reads int
	seen  func(*query.ResultsQuery)
}

func (s *slow) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	s.reads++
	if s.seen != nil {
		s.seen(q)
	}
	block := 0
	wait := func() error {
		select {
		case <-time.After(s.delay(block)):
			block++
			return nil
		case <-ctx.Done():
			return fault.Wrap(context.Cause(ctx), fault.Timeout, "The read did not finish in time.")
		}
	}
	if err := wait(); err != nil {
		return err
	}
	return s.memory.Results(ctx, v, q, func(b *query.Block) error {
		if err := each(b); err != nil {
			return err
		}
		return wait()
	})
}

// slowService is a service on the clock of a synctest bubble.
func slowService(t *testing.T, delay func(block int) time.Duration) (*query.Service, *slow) {
	t.Helper()
	store := &slow{memory: newMemory(), delay: delay}
	store.blockMax = 1
	store.ended = make(chan error, 100_000)
	cfg := query.Defaults()
	cfg.CursorKey = "0123456789abcdef0123456789abcdef"
	s := must.Get(query.New(cfg, store, time.Now))(t)
	return s, store
}

// With a store that needs a second for a row, pages end at the soft deadline,
// with fewer rows than their limit and a cursor, and the walk returns every row
// once, in both orders. The clock is the test's: RES-11b, RES-11c.
func TestSoftDeadline(t *testing.T) {
	for _, sort := range []string{"desc", "asc"} {
		t.Run(sort, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service, store := slowService(t, func(int) time.Duration { return time.Second })
				var want, got []string
				for _, r := range store.rows {
					want = append(want, fmt.Sprint(r.price))
				}
				req := query.ResultsRequest{Sort: sort, Limit: ptr(40)}
				short, pages := 0, 0
				for {
					pages++
					began := time.Now()
					p := must.Get(service.Results(t.Context(), query.Principal{Account: reader}, req))(t)
					took := time.Since(began)
					got = append(got, prices(t, &p.Rows)...)
					if p.Paging.NextCursor == "" {
						break
					}
					if p.Paging.Returned < p.Paging.Limit {
						short++
						if took < 5*time.Second {
							t.Errorf("cut short after %s", took)
						}
					}
					if took > 15*time.Second { // the soft deadline, and one slice that had begun before it
						t.Errorf("a page took %s", took)
					}
					if pages > 1000 {
						t.Fatal("the walk does not end")
					}
					req.Cursor = p.Paging.NextCursor
				}
				if sort == "desc" {
					for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
						got[i], got[j] = got[j], got[i]
					}
				}
				equals.Checkf(t, want, got, "the union of the pages")
				if short == 0 {
					t.Error("no page was cut short")
				}
				t.Logf("%d pages, %d cut short, %d reads of the store", pages, short, store.reads)
			})
		})
	}
}

func ptr[T any](v T) *T { return &v }

func prices(t *testing.T, rows *query.RowsJSON) (all []string) {
	t.Helper()
	var decoded []struct {
		PriceMoney struct{ AmountMinor json.Number }
	}
	must.Do(t, json.Unmarshal(slices.Concat([]byte("["), rows.JSON(), []byte("]")), &decoded))
	for _, r := range decoded {
		all = append(all, r.PriceMoney.AmountMinor.String())
	}
	return all
}

// A page that the hard budget ends fails at the budget and not later: RES-11a,
// ERR-12.
func TestHardBudget(t *testing.T) {
	for _, req := range []query.ResultsRequest{
		{}, {Sort: "asc"}, {LatestPerPair: true}, {LatestObservationPerPair: true}, {ItemID: 11}, {Include: query.Include{Identity: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			service, _ := slowService(t, func(int) time.Duration { return time.Hour })
			began := time.Now()
			_, err := service.Results(t.Context(), query.Principal{Account: reader}, req)
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != query.CodeQueryTimeout || f.Kind != fault.Timeout {
				t.Errorf("%+v: %v", req, err)
			}
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("%+v: failed after %s", req, took)
			}
			began = time.Now()
			s := &counted{}
			err = service.StreamResults(t.Context(), query.Principal{Account: reader}, req, s)
			if !errors.As(err, &f) || f.Code != query.CodeQueryTimeout || s.starts != 0 { // RES-14b
				t.Errorf("%+v: stream: %v after %d starts", req, err, s.starts)
			}
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("%+v: stream failed after %s", req, took)
			}
		})
	}
}

// A latest read cannot be cut into slices of time: it is complete within the
// budget, or fails.
func TestLatestReadsHaveNoSoftDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := slowService(t, func(block int) time.Duration { return 200 * time.Millisecond })
		p := must.Get(service.Results(t.Context(), query.Principal{Account: reader}, query.ResultsRequest{LatestPerPair: true}))(t)
		if p.Paging.Returned != 50 || p.Paging.NextCursor != "" {
			t.Errorf("%+v", p.Paging)
		}
	})
}

// A stream may last as long as it likes, but none of its waits for the store
// may be longer than the hard budget; the time that its client takes does not
// count. So it is in each form.
func TestStreamWaitsWithinTheBudget(t *testing.T) {
	t.Run("lines", func(t *testing.T) { waitsWithinTheBudget(t, func(s *counted) query.ResultsStream { return s }) })
	t.Run("table", func(t *testing.T) {
		waitsWithinTheBudget(t, func(s *counted) query.ResultsStream { return &countedTable{counted: s} })
	})
}

func waitsWithinTheBudget(t *testing.T, as func(*counted) query.ResultsStream) {
	run := func(t *testing.T, delay func(int) time.Duration, client time.Duration) (*counted, time.Duration, error) {
		service, _ := slowService(t, delay)
		s := &counted{pause: client}
		began := time.Now()
		err := service.StreamResults(t.Context(), query.Principal{Account: reader}, query.ResultsRequest{}, as(s))
		return s, time.Since(began), err
	}
	synctest.Test(t, func(t *testing.T) {
		s, took, err := run(t, func(int) time.Duration { return 19 * time.Second }, 0)
		if err != nil || s.rows != 50 || took < 900*time.Second {
			t.Errorf("%d rows in %s: %v", s.rows, took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, _, err := run(t, func(int) time.Duration { return time.Second }, time.Minute)
		if err != nil || s.rows != 50 {
			t.Errorf("a slow client: %d rows: %v", s.rows, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s, _, err := run(t, func(block int) time.Duration {
			if block == 3 {
				return 21 * time.Second
			}
			return time.Second
		}, 0)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != query.CodeQueryTimeout || s.rows != 3 {
			t.Errorf("%d rows: %v", s.rows, err)
		}
	})
}

// counted consumes a stream and counts its rows.
type counted struct {
	starts, rows int
	pause        time.Duration
}

func (c *counted) Holds() int64 { return 0 }

func (c *counted) Start(string) error {
	c.starts++
	return nil
}

func (c *counted) Send(_ []byte, rows int) error {
	c.rows += rows
	time.Sleep(c.pause)
	return nil
}

// countedTable does so with batches.
type countedTable struct{ *counted }

func (c *countedTable) Flat() bool { return false }

func (c *countedTable) Form() string { return "counted" }

func (c *countedTable) Coarse() bool { return false }

func (c *countedTable) Encode(rows *frame.Batch) ([]byte, error) {
	return make([]byte, 100*rows.Len), nil
}

func (c *countedTable) Cut() (end, section []byte, err error) { return nil, nil, nil }

func (c *countedTable) Splice([]byte) ([]byte, error) { return nil, nil }

// The default window of a stream is computed at one instant, however long the
// stream lasts: RES-05c.
func TestStreamHasOneNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, store := slowService(t, func(int) time.Duration { return 15 * time.Second })
		windows := map[contracts.Window]bool{}
		store.seen = func(q *query.ResultsQuery) { windows[q.Window] = true }
		must.Do(t, service.StreamResults(t.Context(), query.Principal{Account: reader}, query.ResultsRequest{ItemID: 11}, &counted{}))
		if len(windows) != 1 {
			t.Errorf("%d windows: %v", len(windows), windows)
		}
		for w := range windows {
			if w.Length() != 168*time.Hour {
				t.Errorf("%s", w.Length())
			}
		}
	})
}
