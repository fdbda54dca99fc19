package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines collects a stream.
type lines struct {
	starts, rows int
	scope        string
	text         bytes.Buffer
	failAfter    int // rows; 0: never
}

var errClientLeft = errors.New("the client left")

func (l *lines) Holds() int64 { return 0 }

func (l *lines) Start(scope string) error {
	l.starts++
	l.scope = scope
	return nil
}

func (l *lines) Lines(ndjson []byte, rows int) error {
	l.rows += rows
	l.text.Write(ndjson)
	if l.failAfter > 0 && l.rows >= l.failAfter {
		return errClientLeft
	}
	return nil
}

func (l *lines) answers(t require) []answer {
	all := []answer{}
	for line := range bytes.Lines(l.text.Bytes()) {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, a)
	}
	return all
}

// TestStreamMatchesOracle cuts streams into many slices and compares them
// with a look at every row: RES-14a, RES-05c.
func TestStreamMatchesOracle(t *testing.T) {
	w := newWorld(t, 11, 2500)
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	testserver.Check(t, 40, func(rt *rapid.T) {
		a := rapid.SampledFrom(accounts).Draw(rt, "account")
		r := drawRequest.Draw(rt, "request")
		from, to := w.drawWindow(rt, &r)
		want := expected(w.oracle(a, r, from, to, w.rows))
		if n := len(want); n > 3 && rapid.Bool().Draw(rt, "resume") { // at a page's cursor
			r.Limit = ptr(rapid.IntRange(1, min(n-1, 1000)).Draw(rt, "limit of the page"))
			p, err := w.service.Results(t.Context(), query.Principal{Account: a}, r)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			r.Cursor, want = p.Paging.NextCursor, want[*r.Limit:]
		}
		var got lines
		if err := w.service.StreamResults(t.Context(), query.Principal{Account: a}, r, &got); err != nil {
			rt.Fatalf("%+v: %v", r, err)
		}
		if diff := cmp.Diff(want, got.answers(rt)); diff != "" || got.rows != len(want) || got.starts != 1 {
			rt.Fatalf("account %d, %+v: %d starts, %d rows (-want +got):\n%s", a, r, got.starts, got.rows, diff)
		}
	})
}

// TestStreamEndsWithItsClient: nothing is read on when nobody takes it.
func TestStreamEndsWithItsClient(t *testing.T) {
	w := newWorld(t, 12, 2000)
	r := query.ResultsRequest{OrderID: orderA, CapturedFrom: "2026-01-01"}
	err := w.service.StreamResults(t.Context(), query.Principal{Account: accountWhole}, r, &lines{failAfter: 1})
	if !errors.Is(err, errClientLeft) {
		t.Fatalf("the client's error became %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.service.StreamResults(ctx, query.Principal{Account: accountWhole}, r, &lines{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled stream ended with %v", err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		var n uint64
		must(t, w.conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE '%observations_by_mandate%' AND query NOT LIKE '%system.processes%'").Scan(&n))
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d statements still run", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
