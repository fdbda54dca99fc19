package load_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/ingest/market"
)

// parkedStreams of an account are as many as it may have at the same time.
const parkedStreams = 8

// pageFloor is below what a page may be late by for other reasons.
const pageFloor = 100 * time.Millisecond

// TestParked: streams whose clients take nothing hold no statement of
// ClickHouse and no more memory than the node has for reads, the pages of
// others go on beside them, and one that goes on gets the rest of the truth.
func TestParked(t *testing.T) {
	testserver.Full(t, "load")
	e := newEstate(t, market.Config{Seed: 11, Scale: 0.5}, 48*time.Hour)
	n := e.node("--reads-per-minute", "100000", "--min-read-rate", "0", "--read-memory", "96")
	light := e.client("hanna", n.URL)
	light.learn(t)
	pages := func(lasts time.Duration) []time.Duration {
		var took []time.Duration
		for began := time.Now(); time.Since(began) < lasts; {
			r := light.send(t.Context(), page)
			if r.status != http.StatusOK || r.wrong != nil {
				t.Errorf("a page beside streams that nobody reads: %v", r)
			}
			took = append(took, r.took)
			memory := n.Metrics()
			if held, limit := memory["preismon_read_memory_bytes"], memory["preismon_read_memory_limit_bytes"]; held > limit || limit == 0 {
				t.Errorf("reads hold %.0f bytes, at most %.0f", held, limit)
			}
		}
		slices.Sort(took)
		return took
	}
	half := min(15*time.Second, max(3*time.Second, *loadFor/8))
	alone, quiet := pages(half), n.Metrics()["go_memstats_heap_inuse_bytes"]
	var parked []net.Conn
	var first *client
	for _, name := range []string{"anna", "bert", "clara", "dora", "emil", "frida"} {
		c := e.client(name, n.URL)
		c.learn(t)
		if first == nil {
			first = c
		}
		for range parkedStreams {
			parked = append(parked, c.park(t))
		}
	}
	// Who else uses the machine makes some pages late: one of three times must do.
	most := max(2*share(alone, 0.99), pageFloor)
	beside := pages(half)
	for try := 1; share(beside, 0.99) > most && try < 3; try++ {
		t.Logf("p99 of %v beside parked streams, once more", share(beside, 0.99))
		beside = pages(half)
	}
	until(t, time.Minute, "nothing is read for clients that take nothing", func() bool {
		return e.number("SELECT count() FROM system.processes WHERE user = 'preismon_query' AND query LIKE '%observations%'") == 0
	})
	heap := n.Metrics()["go_memstats_heap_inuse_bytes"]
	t.Logf("parked=%d heap=%.0fMiB (quiet %.0f) pages of another account: alone n=%d p50=%v p99=%v; beside them n=%d p50=%v p99=%v", len(parked), heap/(1<<20), quiet/(1<<20),
		len(alone), share(alone, 0.5), share(alone, 0.99), len(beside), share(beside, 0.5), share(beside, 0.99))
	if share(beside, 0.99) > most {
		t.Errorf("p99 of %v beside parked streams, at most %v: it is starved", share(beside, 0.99), most)
	}
	// The truth of a stream is what the account learned before it parked.
	goesOn := parked[0]
	resp, err := http.ReadResponse(bufio.NewReader(goesOn), nil)
	must(t, err)
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, resp.Body.Close())
	r := reply{kind: stream, status: resp.StatusCode}
	first.judge(&r, resp, text)
	if r.status != http.StatusOK || r.wrong != nil || bytes.Count(text, []byte("\n")) < 1_000 {
		t.Errorf("a stream that goes on after %v: %v", half, r)
	}
}

// park asks for a stream on a connection of its own, and takes nothing of the
// answer.
func (c *client) park(t testing.TB) net.Conn {
	t.Helper()
	at, err := url.Parse(c.base())
	must(t, err)
	conn, err := net.Dial("tcp", at.Host)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.(*net.TCPConn).SetReadBuffer(128<<10)) // below a segment of the loopback it would stall for good
	must(t, conn.SetReadDeadline(time.Now().Add(10*time.Minute)))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", c.streamPath(), at.Host, c.token)
	must(t, err)
	return conn
}
