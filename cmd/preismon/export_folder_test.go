package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/table/tabletest"
)

// shopOfOneDay serves a single day, whose rows become more while a read of them
// is held back.
type shopOfOneDay struct {
	rows   atomic.Int64
	behind atomic.Int64 // of them are in no page yet
	broken atomic.Bool  // each read gets one page, and no more
	hold   func()       // called by the first read, after it has counted the rows
	held   atomic.Bool
}

func (s *shopOfOneDay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.rows.Load()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/ext/v1/windows":
		fmt.Fprintf(w, `{"data":[{"capturedFrom":"2026-10-01T00:00:00Z","capturedTo":"2026-10-02T00:00:00Z","state":"closed","rows":%d,"digest":"d%[1]d"}],"query":{"token":"t%[1]d","windows":1}}`, n)
	case s.broken.Load() && r.URL.Query().Get("cursor") != "":
		w.WriteHeader(http.StatusForbidden)
	default:
		if s.held.CompareAndSwap(false, true) {
			s.hold()
		}
		n -= s.behind.Load()
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"itemId":"%d","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}`, i+1)
		}
		next := ""
		if s.broken.Load() {
			next = "more"
		}
		sendRows(w, r, next, rows...)
	}
}

// TestTwoExportsOfAFolder: only one at a time writes it, so that no day remains
// as the slower one saw it under the digest of the faster one.
func TestTwoExportsOfAFolder(t *testing.T) {
	t.Parallel()
	shop := &shopOfOneDay{}
	shop.rows.Store(1)
	server := httptest.NewServer(shop)
	defer server.Close()
	folder := filepath.Join(t.TempDir(), "prices")
	args := []string{"export", "--split", "day", "-o", folder, "--url", server.URL, "--token", "any"}
	shop.hold = func() {
		shop.rows.Store(2)
		if _, errs, code := inProcess(t, args...); code != exitFailed || !strings.Contains(errs, "another export is writing "+folder) {
			t.Errorf("the second: exit code %d: %s", code, errs)
		}
		shop.rows.Store(1) // what the first reads is what it has counted
	}
	if _, errs, code := inProcess(t, args...); code != 0 {
		t.Errorf("the first: exit code %d: %s", code, errs)
	}
	shop.rows.Store(2)
	exportsBothRows(t, folder, args)
}

// exportsBothRows exports once more, after which the day has its two rows.
func exportsBothRows(t *testing.T, folder string, args []string) {
	t.Helper()
	if _, errs, code := inProcess(t, args...); code != 0 {
		t.Errorf("the next: exit code %d: %s", code, errs)
	}
	text := must.Get(os.ReadFile(filepath.Join(folder, "day=2026-10-01", "rows.parquet")))(t)
	if rows, err := tabletest.Parquet(text, time.UTC); err != nil || len(rows) != 2 {
		t.Errorf("%d rows, want 2: %v", len(rows), err)
	}
}

// TestExportOfTablesThatAreBehind: a day that got fewer rows than were counted is
// read again.
func TestExportOfTablesThatAreBehind(t *testing.T) {
	t.Parallel()
	shop := &shopOfOneDay{hold: func() {}}
	shop.rows.Store(2)
	shop.behind.Store(1)
	server := httptest.NewServer(shop)
	defer server.Close()
	folder := filepath.Join(t.TempDir(), "prices")
	args := []string{"export", "--split", "day", "-o", folder, "--url", server.URL, "--token", "any"}
	if _, errs, code := inProcess(t, args...); code != exitFailed || !strings.Contains(errs, "day 2026-10-01: 1 of 2 rows: ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	shop.behind.Store(0)
	exportsBothRows(t, folder, args)
}

// TestExportsThatFailLeaveOnePart: an export that fails each night does not fill
// the disk with parts, and leaves nothing that a reader of the folder would take
// for rows: Spark and pyarrow pass over names that begin with a dot.
func TestExportsThatFailLeaveOnePart(t *testing.T) {
	t.Parallel()
	shop := &shopOfOneDay{hold: func() {}}
	shop.rows.Store(1)
	shop.broken.Store(true)
	server := httptest.NewServer(shop)
	defer server.Close()
	folder := filepath.Join(t.TempDir(), "prices [1") // no pattern
	args := []string{"export", "--split", "day", "--format", "csv", "-o", folder, "--url", server.URL, "--token", "any"}
	parts := func() (n int) {
		left := must.Get(os.ReadDir(filepath.Join(folder, "day=2026-10-01")))(t)
		for _, e := range left {
			if strings.HasSuffix(e.Name(), partEnding) {
				n++
			}
			if !strings.HasPrefix(e.Name(), ".") && e.Name() != "rows.csv" {
				t.Errorf("a reader of the folder finds %s", e.Name())
			}
		}
		return n
	}
	for n := range 2 {
		if _, errs, code := inProcess(t, args...); code == 0 || parts() != 1 {
			t.Errorf("run %d: exit code %d, %d parts: %s", n, code, parts(), errs)
		}
	}
	before := filepath.Join(folder, "day=2026-10-01", "rows.csv.ABCDEFGH"+partEnding) // of an earlier version
	must.Do(t, os.WriteFile(before, nil, 0o600))
	shop.broken.Store(false)
	if _, errs, code := inProcess(t, args...); code != 0 || parts() != 0 {
		t.Errorf("exit code %d, %d parts: %s", code, parts(), errs)
	}
}
