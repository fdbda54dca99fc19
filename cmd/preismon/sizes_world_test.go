package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"preismon/contracts"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

//go:embed testdata/sizes.sql
var sizesSQL string

const (
	sizesOften  = 500 // accounts that are read
	sizesMore   = 3   // one of so many sends all reads, the others one
	sizesAtOnce = 8
)

// fillSizes fills the tables as a projector would have.
func fillSizes(t *testing.T, db *sql.DB) {
	t.Helper()
	began := time.Now()
	for statement := range strings.SplitSeq(sizesSQL, ";\n") {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
	t.Logf("the tables are filled in %.1f s", time.Since(began).Seconds())
	for table, want := range map[string]uint64{"items": 10_000_000, "mandates": 10_000, "scope_pairs": 250_000 + 9_999*200} {
		if n := number(t, db, "SELECT count() FROM "+table); n != want {
			t.Fatalf("%s has %d rows, want %d", table, n, want)
		}
	}
}

// sizesReaders sends the same reads to several nodes.
type sizesReaders struct {
	t      *testing.T
	tokens *auth.Authority
	rounds uint64

	mu   sync.Mutex
	want map[string]string // the first answers, by account and request
}

// round sends every read, in random order.
func (s *sizesReaders) round(r *role) {
	s.t.Helper()
	s.rounds++
	type read struct {
		account int
		path    string
	}
	var reads []read
	for account := 2; account < sizesOften+2; account++ {
		for _, path := range smallReads(account) {
			reads = append(reads, read{account, path})
		}
	}
	for _, path := range largeReads() {
		reads = append(reads, read{1, path})
	}
	rand.New(rand.NewPCG(s.rounds, 1)).Shuffle(len(reads), func(i, j int) { reads[i], reads[j] = reads[j], reads[i] })
	g, ctx := errgroup.WithContext(s.t.Context())
	g.SetLimit(sizesAtOnce)
	for _, of := range reads {
		g.Go(func() error { return s.read(ctx, r, of.account, of.path) })
	}
	must.Do(s.t, g.Wait())
}

const sizesWindow = "&capturedFrom=2026-02-27T00:00:00Z&capturedTo=2026-03-01T00:00:00Z"

// smallReads are those of an account with 200 pairs.
func smallReads(account int) []string {
	reads := []string{"/v1/items?limit=100"}
	if account%sizesMore == 0 {
		item := 1_000_000 + 1_000*(account-1)
		reads = append(reads, "/v1/sites", "/v1/orders", fmt.Sprint("/v1/results?latestPerPair=true&itemId=", item), "/v1/results?globalScope=true&includeExportFields=true&limit=50"+sizesWindow)
	}
	return reads
}

// largeReads are those of the account with 250,000 pairs.
func largeReads() []string {
	reads := []string{
		"/v1/sites", "/v1/results?latestPerPair=true&itemId=1000001", "/v1/results?latestObservationPerPair=true&limit=1000&site=shop-07.example",
		"/v1/results?globalScope=true&includeExportFields=true&limit=10000" + sizesWindow, "/v1/results?site=shop-08.example&limit=1000" + sizesWindow,
	}
	for range 2 {
		reads = append(reads, "/v1/results/stream?globalScope=true"+sizesWindow)
	}
	for limit := 981; limit <= 1_000; limit++ { // each is remembered, a quarter of a megabyte
		reads = append(reads, fmt.Sprint("/v1/items?limit=", limit))
	}
	return reads
}

// read sends one request, and compares its answer with the first one.
func (s *sizesReaders) read(ctx context.Context, r *role, account int, path string) error {
	issued, _, err := s.tokens.IssueREST(contracts.AccountID(account))
	if err != nil {
		return err
	}
	resp, err := caller.Client{HTTP: http.DefaultClient, URL: r.URL(), Token: issued.Token.Reveal()}.Send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	name := fmt.Sprintf("account %d, %s", account, path)
	sum, size := sha256.New(), int64(0)
	if strings.Contains(path, "/stream") {
		size, err = io.Copy(sum, resp.Body)
	} else {
		var page struct {
			Data   json.RawMessage
			Paging struct {
				Returned   int
				NextCursor string
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		size = int64(len(page.Data))
		fmt.Fprintf(sum, "%s %d %t", page.Data, page.Paging.Returned, page.Paging.NextCursor != "") // cursors differ each time
	}
	if err != nil || resp.StatusCode != http.StatusOK || size < 50 {
		return fmt.Errorf("%s: %s, %d bytes, %w", name, resp.Status, size, err)
	}
	got := fmt.Sprintf("%d bytes, SHA-256 %x", size, sum.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	if want, ok := s.want[name]; !ok {
		s.want[name] = got
	} else if want != got {
		s.t.Errorf("%s: %s, and %s without a cache", name, got, want)
	}
	return nil
}

// peakMiB is the greatest resident memory that a process has had.
func peakMiB(t *testing.T, r *role) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if kib := 0.0; strings.HasPrefix(line, "VmHWM:") {
			_, _ = fmt.Sscanf(line, "VmHWM: %f kB", &kib)
			return kib / 1024
		}
	}
	t.Errorf("%s has no VmHWM", r.Args[0])
	return 0
}
