package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// What the node of TestNodeOfManyMandates may hold, in MiB. Its resident memory
// is its heap, as its flags say, and the program.
const (
	sizesRemember = 8
	sizesStreams  = 16
	sizesAccounts = 16 // which no flag changes
	sizesInReads  = 64
	sizesGoal     = 64
	sizesProgram  = 96 // measured at rest
	sizesResident = sizesInReads + sizesGoal + sizesRemember + sizesStreams + sizesAccounts + sizesProgram
)

// TestNodeOfManyMandates: ten thousand mandates, one of them of 250,000 pairs,
// and a catalogue of ten million items are more than a node can remember. It asks
// again for what did not fit, stays within its bytes, and gives the answers of a
// node that remembers nothing.
func TestNodeOfManyMandates(t *testing.T) {
	effort.Full(t, "a node of ten thousand mandates, one of 250,000 pairs, and ten million items")
	ch, nats := migrated.ClickHouse(t), testserver.NATS(t)
	fillSizes(t, database(t, ch.AdminDSN))
	key := filepath.Join(t.TempDir(), "token.pem")
	must.Do(t, auth.EnsureKey(key))
	const base = "https://prices.example.com"
	tokens := must.Get(auth.NewIssuer(base, key))(t)
	start := func(remember, streams int) *role {
		r := startRole(t, "query", "--nats-url", nats, "--clickhouse-dsn", ch.QueryDSN, "--token-key", key, "--cursor-key", strings.Repeat("cursor key ", 4),
			"--base-url", base, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--reads-per-minute", "100000000", "--heavy-at-once", "1000",
			"--read-memory", strconv.Itoa(sizesInReads), "--memory-goal", strconv.Itoa(sizesGoal), "--remember", strconv.Itoa(remember), "--remember-streams", strconv.Itoa(streams))
		must.Eventually(t, time.Minute, "the query node is ready", r.Ready)
		return r
	}
	readers := &sizesReaders{t: t, tokens: tokens, want: map[string]string{}}

	without := start(0, 0)
	began := time.Now()
	readers.round(without)
	t.Logf("without a cache: %d reads in %.0f s, %.0f statements, %s", len(readers.want), time.Since(began).Seconds(), without.statements(), memoryOf(t, without))
	without.terminate()

	node := start(sizesRemember, sizesStreams)
	watch := watchSizes(t, node)
	for round := range 2 {
		statements, began := node.statements(), time.Now()
		readers.round(node)
		asked := node.statements() - statements
		t.Logf("round %d: %.0f s, %.0f statements, %s", round+1, time.Since(began).Seconds(), asked, memoryOf(t, node))
		if asked < float64(len(readers.want))/4 {
			t.Errorf("round %d: %.0f statements for %d reads, which do not fit into the cache", round+1, asked, len(readers.want))
		}
	}
	// Garbage is collected at once above the goal and what the caches hold; their
	// own bytes are not garbage.
	remembered := rememberedMiB(t, node, "answers") + rememberedMiB(t, node, "streams") + rememberedMiB(t, node, "accounts")
	if limit, err := strconv.ParseFloat(node.metric("go_gc_gomemlimit_bytes"), 64); err != nil || limit/(1<<20) < sizesGoal+remembered-float64(memoryStep>>20) {
		t.Errorf("garbage is collected at once above %.0f MiB, though the caches hold %.0f and the goal is %d: %v", limit/(1<<20), remembered, sizesGoal, err)
	}
	for name, most := range watch() {
		t.Logf("%s: at most %.1f MiB", name, most)
		if limit := map[string]float64{"answers": sizesRemember, "streams": sizesStreams, "accounts": sizesAccounts, "resident": sizesResident}[name]; most == 0 || most > limit {
			t.Errorf("%s: %.1f MiB, at most %.0f are promised", name, most, limit)
		}
	}
	for _, what := range []string{`preismon_remembered_evictions_total{cache="answers"}`, `preismon_remembered_total{cache="answers",result="hit"}`} {
		if n := node.metric(what); n == "" || n == "0" {
			t.Errorf("%s is %q", what, n)
		}
	}
}

// watchSizes reads what a node holds until it is stopped, and returns the most of
// each cache and of its resident memory, in MiB.
func watchSizes(t *testing.T, r *role) (stop func() map[string]float64) {
	t.Helper()
	most := map[string]float64{}
	look := func() {
		for _, name := range []string{"answers", "streams", "accounts"} {
			most[name] = max(most[name], rememberedMiB(t, r, name))
		}
	}
	ended, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for {
			look()
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() map[string]float64 {
		close(ended)
		<-looked
		most["resident"] = peakMiB(t, r)
		return most
	}
}

// rememberedMiB is what a node says that one of its caches holds.
func rememberedMiB(t *testing.T, r *role, name string) float64 {
	text := r.metric(`preismon_remembered_bytes{cache="` + name + `"}`)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Errorf("the bytes of %s are %q", name, text)
	}
	return n / (1 << 20)
}

// memoryOf describes what a node holds, after its garbage was collected.
func memoryOf(t *testing.T, r *role) string {
	t.Helper()
	var heap []string
	for range 2 { // what is pooled is freed by the second collection
		heap = nil
		_, body := r.Ask("/debug/pprof/heap?gc=1&debug=1")
		for line := range strings.Lines(body) {
			for _, of := range []string{"HeapAlloc", "NumGC", "GCCPUFraction"} {
				if strings.HasPrefix(line, "# "+of+" ") {
					heap = append(heap, strings.TrimSpace(line[2:]))
				}
			}
		}
	}
	return fmt.Sprintf("resident %.0f MiB at most, answers %.1f, streams %.1f, accounts %.1f MiB, %s", peakMiB(t, r),
		rememberedMiB(t, r, "answers"), rememberedMiB(t, r, "streams"), rememberedMiB(t, r, "accounts"), strings.Join(heap, ", "))
}
