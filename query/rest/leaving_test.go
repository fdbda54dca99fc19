package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
)

// serveLong serves a stream that is much longer than what any buffer holds.
func serveLong(t testing.TB) *live {
	l := serveLive(t)
	l.mark()
	l.account(1, 1, "", "")
	l.exec("INSERT INTO sites VALUES ('shop.example', 'x', 'shop', 'DE', 'EUR', '', false, false, 1)")
	l.scope(1, 1, "SELECT toUInt64(1) AS item, 'shop.example' AS site, [toUInt64(7)] AS orders")
	l.exec("INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, outcome, currency, price_minor, shipping_minor, merchant, rating_tenths, title, url) " +
		fmt.Sprintf("SELECT 1, -(%d - number * 30), 1, 'shop.example', %d, number + 1, 'priceObserved', 'EUR', number, -1, 'x', 255, hex(sipHash128(number)), hex(sipHash128(number + 1)) FROM numbers(%d)", l.now.Add(-time.Minute).UnixMilli(), liveEpoch, longRows))
	return l
}

const longRows = 600_000

var longWorld = testserver.Shared[*live]{Make: serveLong}

// long opens the stream in a form and a coding; leave ends its request.
func (l *live) long(t *testing.T, media, coding string) (resp *http.Response, leave func()) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	r := l.request("GET", "/v1/results/stream?includeExportFields=true", l.token(1), nil).WithContext(ctx)
	r.Header.Set("Accept", media)
	r.Header.Set("Accept-Encoding", coding)
	resp = must.Get(l.raw().Do(r))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp, leave
}

// reading returns the number of read statements running now.
func (l *live) reading() (n uint64) {
	l.t.Helper()
	must.Do(l.t, l.conn.QueryRow(context.Background(), "SELECT count() FROM system.processes WHERE current_database = ? AND query NOT LIKE '%system.processes%'", l.db.Database).Scan(&n))
	return n
}

// The first row is sent before the last one is read: a client that reads only
// one row leaves most of the rest in ClickHouse, in every coding; and Vary
// names everything that the answer depends on (HDR-03).
func TestFirstRowBeforeTheLastIsRead(t *testing.T) {
	t.Parallel() // it mostly waits
	l := longWorld.Get(t).of(t)
	ids := map[string]string{}
	var leaves []func()
	for _, coding := range codings {
		resp, leave := l.long(t, ndjsonMedia, coding)
		ids[coding], leaves = resp.Header.Get("X-Request-Id"), append(leaves, leave)
		if vary := strings.Join(resp.Header.Values("Vary"), ", "); !strings.Contains(vary, "Accept-Encoding") || !strings.Contains(vary, "Origin") {
			t.Errorf("Vary %q", vary)
		}
		line := must.Get(bufio.NewReaderSize(decoded(t, resp), 16).ReadString('\n'))(t)
		if !strings.HasPrefix(line, `{"itemId":"1"`) {
			t.Fatalf("%q", line)
		}
	}
	time.Sleep(time.Second) // what is read ahead has been read by now
	for _, leave := range leaves {
		leave()
	}
	for start := time.Now(); l.reading() > 0 && time.Since(start) < time.Minute; time.Sleep(10 * time.Millisecond) {
	}
	l.exec("SYSTEM FLUSH LOGS")
	for coding, id := range ids {
		var read uint64
		must.Do(t, l.conn.QueryRow(t.Context(), `SELECT sum(read_rows) FROM system.query_log
			WHERE current_database = ? AND type != 'QueryStart' AND query LIKE '%price_minor%' AND startsWith(query_id, ?)`,
			l.db.Database, "q-"+id+"-").Scan(&read))
		t.Logf("%s: %d of %d rows were read for a client that took one", coding, read, longRows)
		if read == 0 || read > longRows/2 {
			t.Errorf("%s: %d of %d rows were read for a client that took one", coding, read, longRows)
		}
	}
}

// A client that leaves ends the statement in ClickHouse, whatever it is sent. The
// contract allows a second; the test gives a busy machine ten.
func TestLeavingEndsTheStatement(t *testing.T) {
	l := longWorld.Get(t).of(t)
	for _, coding := range codings {
		l.leaves(t, ndjsonMedia, coding)
	}
	for _, media := range []string{csvMedia, arrowMedia, parquetMedia} {
		l.leaves(t, media, "identity")
	}
	if log := l.log.String(); strings.Contains(log, "request failed") {
		t.Errorf("a client that leaves is no failure of ours: %s", log)
	}
}

// leaves leaves a stream, whose statement must then end.
func (l *live) leaves(t *testing.T, media, coding string) {
	t.Helper()
	resp, leave := l.long(t, media, coding)
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, media) {
		t.Fatalf("%s, not %s", got, media)
	}
	go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
	for start := time.Now(); l.reading() == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatal("no statement runs")
		}
	}
	began := time.Now()
	leave()
	// Between two slices no statement runs for a moment: it has ended if none runs for long.
	took := time.Duration(0)
	for since := time.Since(began); since < took+300*time.Millisecond; since = time.Since(began) {
		if n := l.reading(); n > 0 {
			took = since
		}
		if took > 10*time.Second {
			t.Fatalf("%s: a statement still runs, or again", media)
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("%s, %s: the statement ended %s after its client left", media, coding, took)
}
