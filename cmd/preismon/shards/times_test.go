package shards_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/process"
)

// copies is how often each row of a mandate is written again, for streams long
// enough to be measured.
const copies = 44

// pages is how many are measured.
const pages = 40

// lengthen writes the rows of windows again, at somewhat earlier times, the
// same in all forms.
func (e *estate) lengthen(t testing.TB) {
	t.Helper()
	for _, f := range e.forms {
		for _, db := range f.tables {
			_, err := db.Exec(fmt.Sprintf(`INSERT INTO observations_by_mandate
				SELECT t.* REPLACE (captured_desc + 421000 * (1 + number) AS captured_desc)
				FROM observations_by_mandate AS t CROSS JOIN numbers(%d) AS times`, copies))
			must(t, err)
			_, err = db.Exec("OPTIMIZE TABLE observations_by_mandate FINAL")
			must(t, err)
		}
		t.Logf("%d shards: rows of mandates %v", f.n, f.count("SELECT count() FROM observations_by_mandate"))
	}
}

// times shows how long a page and a stream take with the shards. All shards
// share this machine's processors, so that what they do side by side on
// machines of their own comes one after the other here: the figures are what
// the shards cost, not what they gain.
func (e *estate) times(t *testing.T) {
	anna := e.client(t, "anna")
	var first struct{ page, narrow, stream time.Duration }
	clara := e.client(t, "clara")
	var digest string
	for _, n := range shardCounts {
		node := e.forms[n].nodes[0]
		used := e.processors(node)
		page := e.median(anna, node, "/v1/results?limit=100&"+e.whole())
		used = (e.processors(node) - used) / pages
		narrow := e.median(clara, node, "/v1/results?limit=100&"+e.whole())
		began := time.Now()
		resp, err := anna.send(node, http.MethodGet, "/v1/results/stream?"+e.whole(), anna.token, nil)
		must(t, err)
		h := sha256.New()
		lines := &lineCounter{}
		size, err := io.Copy(io.MultiWriter(h, lines), resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
		stream := time.Since(began)
		if !complete(resp, lines.n) || lines.n < 100_000 {
			t.Errorf("%d shards: a stream of %d lines, trailer %v", n, lines.n, resp.Trailer)
		}
		if sum := fmt.Sprintf("%x", h.Sum(nil)); digest == "" {
			digest = sum
		} else if digest != sum {
			t.Errorf("%d shards: the stream is not that of one server", n)
		}
		if n == 1 {
			first.page, first.narrow, first.stream = page, narrow, stream
		}
		t.Logf("%d shards: page %v (%.2f of the single form), %v of processors for it, page of a narrowed account %v (%.2f), stream of %d rows, %d MB, %v (%.2f): %.0f rows/s",
			n, page.Round(10*time.Microsecond), ratio(page, first.page), used.Round(10*time.Microsecond), narrow.Round(10*time.Microsecond), ratio(narrow, first.narrow),
			lines.n, size>>20, stream.Round(time.Millisecond), ratio(stream, first.stream), float64(lines.n)/stream.Seconds())
	}
}

// processors is the processor time that the shards and a node used so far; on
// a system without /proc, 0.
func (e *estate) processors(node *process.Role) (used time.Duration) {
	pids := []int{node.PID()}
	for _, s := range e.servers {
		pids = append(pids, s.PID())
	}
	const tick = time.Second / 100 // USER_HZ
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, fields, ok := strings.Cut(string(text), ") "); ok { // proc_pid_stat(5): from field 3, state; utime and stime are 14 and 15
			for _, ticks := range strings.Fields(fields)[11:13] {
				n, _ := strconv.Atoi(ticks)
				used += time.Duration(n) * tick
			}
		}
	}
	return used
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// median is the time of a page, of many.
func (e *estate) median(c *client, node *process.Role, path string) time.Duration {
	var all []time.Duration
	for range pages {
		began := time.Now()
		if resp, text := c.get(node, path); resp.StatusCode != http.StatusOK {
			c.t.Fatalf("%s %.300s", resp.Status, text)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

type lineCounter struct{ n int }

func (l *lineCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			l.n++
		}
	}
	return len(p), nil
}
