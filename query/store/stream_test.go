package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query"
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

func (l *lines) Send(ndjson []byte, rows int) error {
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

// streamEndsWithItsClient: reading stops when the client is gone.
func (w *world) streamEndsWithItsClient(t *testing.T) {
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
		must.Do(t, w.conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE '%observations_by_mandate%' AND query NOT LIKE '%system.processes%'").Scan(&n))
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d statements still run", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
