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
		exits(t, exitFailed, "another export is writing "+folder)(inProcess(t, args...))
		shop.rows.Store(1) // what the first reads is what it has counted
	}
	exits(t, 0)(inProcess(t, args...))
	shop.rows.Store(2)
	exportsBothRows(t, folder, args)
}

// exportsBothRows exports once more, after which the day has its two rows.
func exportsBothRows(t *testing.T, folder string, args []string) {
	t.Helper()
	exits(t, 0)(inProcess(t, args...))
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
	exits(t, exitFailed, "day 2026-10-01: 1 of 2 rows: ")(inProcess(t, args...))
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

// TestRefusedDay: a refusal that another run cannot help does not advise one, and
// leaves no folder for the day.
func TestRefusedDay(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ext/v1/windows" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"capturedFrom":"2026-10-01T00:00:00Z","capturedTo":"2026-10-02T00:00:00Z","state":"closed","rows":1,"digest":"d"}],"query":{"token":"t","windows":1}}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"code":"MVP_VALIDATION_ERROR","detail":"It is wrong."}`)
	}))
	defer server.Close()
	folder := filepath.Join(t.TempDir(), "prices")
	_, errs, code := inProcess(t, "export", "--split", "day", "-o", folder, "--url", server.URL, "--token", "any")
	if code != exitFailed || !strings.Contains(errs, "day 2026-10-01: It is wrong.\n") || strings.Contains(errs, "again") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "day=*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestExportSaysItsWindow: the last line has the window, and which flag takes
// another if none was given.
func TestExportSaysItsWindow(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("limit") == "1" {
			fmt.Fprint(w, `{"data":[],"paging":{},"query":{"capturedFrom":"2026-10-01T00:00:00.000Z","capturedTo":"2026-10-02T00:00:00.000Z"}}`)
			return
		}
		sendRows(w, r, "", `{"itemId":"1","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}`)
	}))
	defer server.Close()
	name := filepath.Join(t.TempDir(), "rows.ndjson")
	for _, c := range []struct {
		flags []string
		said  string
	}{
		{nil, "in the last 24 hours; --from takes an earlier beginning"},
		{[]string{"--from", "2026-10-01"}, "since 2026-10-01T00:00:00.000Z"},
		{[]string{"--from", "2026-10-01", "--to", "2026-10-02"}, "from 2026-10-01T00:00:00.000Z to 2026-10-02T00:00:00.000Z"},
	} {
		_, errs, code := inProcess(t, append([]string{"export", "--site", "a", "-o", name, "--url", server.URL, "--token", "any"}, c.flags...)...)
		if want := "1 row in " + name + ", captured " + c.said + ".\n"; code != 0 || errs != want {
			t.Errorf("exit code %d: %q, want %q", code, errs, want)
		}
	}
}
