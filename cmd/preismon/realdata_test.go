package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

const (
	realWorkers     = 2
	realEarliest    = "2020-01-01"
	realObservation = "observations.csv.gz"
	realMarketplace = "marketplace_offers.csv.gz"
)

// TestRealData imports real observations with the real commands and queries the
// real service for everything, row by row. An oracle with its own code for
// reading the CSV files decides what is right; it shares the documented
// decisions of the mapping with ingest/maps, but no line of code.
func TestRealData(t *testing.T) {
	effort.Full(t, "every row of the real files")
	dir := realDataDir(t)
	begin := time.Now()
	u := startUp(t, "--log-level", "warn")
	t.Logf("up is ready after %.1f s", u.Ready.Seconds())

	first := importReal(t, u, realObservation, "observations", "a")
	if first.rows != 778_026 || first.accepted != 778_026 || first.rejected != 0 || first.code != 0 {
		t.Errorf("%s: %+v, want 778026 rows, all of them accepted", realObservation, first)
	}
	t.Logf("import: %.1f s, %.0f rows/s from the file to the tables", first.took.Seconds(), float64(first.rows)/first.took.Seconds())

	// The oracle reads while the other file is imported, twice.
	worlds := [2]*realWorld{newRealWorld(), newRealWorld()}
	var loadErr error
	var reading sync.WaitGroup
	reading.Go(func() {
		loadErr = errors.Join(worlds[0].load(filepath.Join(dir, realObservation)), worlds[1].load(filepath.Join(dir, realMarketplace)))
	})
	offers := importReal(t, u, realMarketplace, "marketplace-offers", "b")
	again := importReal(t, u, realMarketplace, "marketplace-offers", "b")
	// Records of the catalogue are published again, without the account, which is there.
	if again.events >= offers.events || again.known != 0 || again.accepted != offers.accepted || again.before != offers.accepted || again.rejected != offers.rejected {
		t.Errorf("second import: %+v after %+v; all of its rows were imported before, so no observation is published", again, offers)
	}
	reading.Wait()
	must.Do(t, loadErr)
	if offers.rows != 2157 || offers.rejected != len(worlds[1].duplicates) || offers.rejected != 72 || offers.code != exitRejected {
		t.Errorf("%s: %+v, want 2157 rows, 72 of them rejected, as exact duplicates; the oracle finds %d", realMarketplace, offers, len(worlds[1].duplicates))
	}
	if len(worlds[0].duplicates) > 0 || len(worlds[0].rows) != first.accepted || len(worlds[1].rows) != offers.accepted {
		t.Errorf("the oracle holds %d and %d rows", len(worlds[0].rows), len(worlds[1].rows))
	}
	sameRejects(t, worlds[1].duplicates, offers.rejects)
	imported := time.Since(begin)

	for i, w := range worlds {
		w.client = u.client().login([]string{"a", "b"}[i]+"@example.com", realPassword)
	}
	start := time.Now()
	for _, w := range worlds {
		w.compareSites(t)
		w.compareEverything(t)
		w.compareCatalogue(t)
	}
	t.Logf("imports and oracle %.1f s, every row compared %.1f s", imported.Seconds(), time.Since(start).Seconds())

	u.interrupt()
	if code := u.wait(); code != 0 {
		t.Errorf("up ended with %d", code)
	}
}

// realDataDir finds ../shared/data next to the repository. The files have no
// licence and are not part of the project, so the test runs only where they
// are.
func realDataDir(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.Getwd())(t)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		data := filepath.Join(filepath.Dir(dir), "shared", "data")
		if _, err := os.Stat(filepath.Join(data, realObservation)); err != nil {
			t.Skipf("NOT RUN on real data: there is no ../shared/data/%s beside the repository", realObservation)
		}
		return data
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// --- import

const realPassword = "correct horse battery"

// realImport is what an import reports about itself.
type realImport struct {
	rows, accepted, rejected, events, known, code int

	before  int // rows that were accepted and imported before
	took    time.Duration
	rejects []byte
}

var (
	summaryRows   = regexp.MustCompile(`rows +([0-9,]+): ([0-9,]+) accepted, ([0-9,]+) rejected`)
	summaryBefore = regexp.MustCompile(`([0-9,]+) accepted rows imported before, not published again`)
	summaryEvents = regexp.MustCompile(`Published ([0-9,]+) events \(([0-9,]+) already known\)`)
)

func importReal(t *testing.T, u *upProcess, file, mapping, name string) realImport {
	t.Helper()
	rejects := filepath.Join(t.TempDir(), "rejects.ndjson")
	start := time.Now()
	stdout, stderr, code := preismon(t, []string{"PREISMON_PASSWORD=" + realPassword}, "import", filepath.Join(realDataDir(t), file),
		"--map", mapping, "--mandate", "Real "+name, "--login", name+"@example.com", "--data-dir", u.DataDir, "--rejects", rejects)
	im := realImport{code: code, took: time.Since(start)}
	rows, events := summaryRows.FindStringSubmatch(stdout), summaryEvents.FindStringSubmatch(stderr)
	if rows == nil || events == nil {
		t.Fatalf("import %s: %d\n%s\n%s", file, code, stdout, stderr)
	}
	number := func(s string) int {
		n := must.Get(strconv.Atoi(strings.ReplaceAll(s, ",", "")))(t)
		return n
	}
	im.rows, im.accepted, im.rejected = number(rows[1]), number(rows[2]), number(rows[3])
	im.events, im.known = number(events[1]), number(events[2])
	if before := summaryBefore.FindStringSubmatch(stdout); before != nil {
		im.before = number(before[1])
	}
	var err error
	if im.rejects, err = os.ReadFile(rejects); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return im
}

// sameRejects requires each duplicate to be listed by its line, with the line
// that it repeats.
func sameRejects(t *testing.T, duplicates map[int]int, rejects []byte) {
	t.Helper()
	listed := map[int]bool{}
	for line := range bytes.Lines(rejects) {
		var r struct {
			Line   int    `json:"line"`
			Reason string `json:"reason"`
		}
		must.Do(t, json.Unmarshal(line, &r))
		of, ok := duplicates[r.Line]
		if want := fmt.Sprintf("exact duplicate of line %d; distinguish names columns that distinguish offers", of); !ok || r.Reason != want || listed[r.Line] {
			t.Errorf("line %d is rejected: %q; the oracle says %t %q", r.Line, r.Reason, ok, want)
		}
		listed[r.Line] = true
	}
	if len(listed) != len(duplicates) {
		t.Errorf("%d lines are rejected, the oracle finds %d duplicates", len(listed), len(duplicates))
	}
}
