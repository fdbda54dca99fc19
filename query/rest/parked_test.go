package rest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

const (
	parkedReaders  = 200
	parkedAccounts = 20
	parkedRows     = 600_000
	parkedBeside   = 50      // requests of each kind beside them
	parkedOwn      = 8 << 20 // bytes that the connections themselves hold, 40 kB each

	// What a page and a short stream may take for other reasons.
	pageFloor   = 150 * time.Millisecond
	streamFloor = 250 * time.Millisecond

	bystander = contracts.AccountID(50)
)

// serveParked is a surface over a mandate with many rows, and accounts that all
// see it.
func serveParked(t testing.TB, rows int, change ...func(*settings)) *live {
	t.Helper()
	l := serveLive(t, append([]func(*settings){func(set *settings) {
		set.throttle.HeavyAtOnce = parkedReaders
		set.query.SoftDeadline, set.query.HardBudget = 10*time.Second, 20*time.Second
		set.unchecked = true
	}}, change...)...)
	l.mark()
	for id := range contracts.AccountID(bystander + 1) {
		if id > 0 {
			l.account(id, 1, "", "")
		}
	}
	l.exec("INSERT INTO items SELECT number + 1, '', '', '', '', 'x', '', 'Maker', 1 FROM numbers(1000)")
	l.exec("INSERT INTO sites VALUES ('shop.example', 'x', 'shop', 'DE', 'EUR', '', false, false, 1)")
	l.scope(1, 1, "SELECT number + 1 AS item, 'shop.example' AS site, [toUInt64(7)] AS orders FROM numbers(1000)")
	l.exec(fmt.Sprintf(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, outcome, currency, price_minor, shipping_minor, merchant, rating_tenths, title, url)
		SELECT 1, -(%d - number * 200), number %% 1000 + 1, 'shop.example', %d, number + 1, 'priceObserved', 'EUR', number, -1, concat('Merchant ', toString(number %% 100)), 255,
			concat('A title that tells things apart, number ', toString(number)), concat('https://shop.example/a/path/to/an/offer/', toString(number)) FROM numbers(%d)`,
		l.now.Add(-time.Minute).UnixMilli(), liveEpoch, rows))
	l.exec(`INSERT INTO observations (item, site, captured_at, epoch, seq, outcome, currency, price_minor, shipping_minor, merchant, rating_tenths, title, url)
		SELECT item, site, fromUnixTimestamp64Milli(-captured_desc), epoch, seq, outcome, currency, price_minor, shipping_minor, merchant, rating_tenths, title, url FROM observations_by_mandate`)
	return l
}

// liveHeap returns what is reachable, including pools.
func liveHeap() uint64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// parked opens a stream on a connection that reads almost nothing. It returns
// the status, 0 if none came.
func (l *live) parked(ctx context.Context, account contracts.AccountID, query, coding string, drip bool) (status int) {
	conn, err := net.Dial("tcp", l.Listener.Addr().String())
	if err != nil {
		return 0
	}
	context.AfterFunc(ctx, func() { conn.Close() }) // the connection stays open until then
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, _ = fmt.Fprintf(conn, "GET /v1/results/stream?%s HTTP/1.1\r\nHost: x\r\n%sAuthorization: Bearer %s\r\n\r\n", query, coding, l.token(account))
	r := bufio.NewReaderSize(conn, 16)
	line, err := r.ReadString('\n')
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
	if status == http.StatusOK && drip {
		go func() {
			for ; ctx.Err() == nil; time.Sleep(time.Second) {
				if _, err := r.ReadByte(); err != nil {
					return
				}
			}
		}()
	}
	return status
}

// bystanders requests pages and one-hour streams n times and returns the sorted
// times of each.
func (l *live) bystanders(t testing.TB, n int) (pages, streams []time.Duration) {
	t.Helper()
	from := l.now.Add(-50 * time.Minute).Format(time.RFC3339)
	for i := range n {
		for path, took := range map[string]*[]time.Duration{
			"/v1/results?site=shop.example&limit=1000&includeExportFields=true&capturedFrom=" + from: &pages,
			"/v1/results/stream?site=shop.example&includeExportFields=true&capturedFrom=" + from:     &streams,
		} {
			began := time.Now()
			a := l.plain(path, l.token(bystander-contracts.AccountID(i%5)))
			*took = append(*took, time.Since(began))
			if a.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %.300s", path, a.StatusCode, a.body)
			}
		}
	}
	slices.Sort(pages)
	slices.Sort(streams)
	return pages, streams
}

// settled waits until clients that do not read have all that they will get: no
// row was handed on for a second.
func (l *live) settled(t testing.TB) {
	t.Helper()
	was, since := l.service.Stats().StreamRows, time.Now()
	for end := time.Now().Add(2 * time.Minute); time.Since(since) < time.Second || l.service.Admission().Stats().LongRows > 0; time.Sleep(50 * time.Millisecond) {
		if now := l.service.Stats().StreamRows; now != was {
			was, since = now, time.Now()
		}
		if time.Now().After(end) {
			t.Fatal("rows are handed on to clients that take none")
		}
	}
}

func worst(sorted []time.Duration) time.Duration { return sorted[len(sorted)*98/100] }

// TestParkedReaders: 200 streams of 20 accounts that read nothing, or a byte a
// second, hold no more than the node's budget, and no one else waits for them.
func TestParkedReaders(t *testing.T) {
	effort.Full(t, "200 readers that take nothing")
	l := serveParked(t, parkedRows)
	l.bystanders(t, 5)
	quiet := liveHeap()
	pages, streams := l.bystanders(t, parkedBeside)
	t.Logf("alone: heap %d MiB, pages p50=%v p99=%v, one-hour streams p50=%v p99=%v", quiet>>20, pages[parkedBeside/2], worst(pages), streams[parkedBeside/2], worst(streams))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var statuses [600]atomic.Int32
	var running sync.WaitGroup
	for i := range parkedReaders {
		query := "site=shop.example&includeExportFields=true&capturedFrom=" + l.now.Add(-40*time.Hour).Format(time.RFC3339)
		switch i % 10 {
		case 3, 7: // by pair
			query += "&itemId=" + fmt.Sprint(i%1000+1)
		case 5: // short
			query = "site=shop.example&includeExportFields=true&capturedFrom=" + l.now.Add(-55*time.Minute).Format(time.RFC3339)
		}
		coding := ""
		if i%4 == 1 {
			coding = "Accept-Encoding: zstd\r\n"
		}
		running.Go(func() {
			statuses[l.parked(ctx, contracts.AccountID(i%parkedAccounts+1), query, coding, i%2 == 0)].Add(1)
		})
	}
	began := make(chan struct{})
	go func() { running.Wait(); close(began) }()
	most := uint64(0)
	for waiting := true; waiting; time.Sleep(250 * time.Millisecond) {
		most = max(most, liveHeap())
		select {
		case <-began:
			waiting = false
		default:
		}
	}
	l.settled(t)
	most = max(most, liveHeap())
	mostPages, mostStreams := max(2*worst(pages), pageFloor), max(2*worst(streams), streamFloor)
	besidePages, besideStreams := l.bystanders(t, parkedBeside)
	// Other load on the machine delays some: one of three attempts must
	// succeed.
	for try := 1; (worst(besidePages) > mostPages || worst(besideStreams) > mostStreams) && try < 3; try++ {
		t.Logf("p99 of %v and %v, once more", worst(besidePages), worst(besideStreams))
		besidePages, besideStreams = l.bystanders(t, parkedBeside)
	}
	if worst(besidePages) > mostPages || worst(besideStreams) > mostStreams {
		t.Errorf("beside parked readers the p99 of pages is %v, at most %v, and of one-hour streams %v, at most %v", worst(besidePages), mostPages, worst(besideStreams), mostStreams)
	}
	most = max(most, liveHeap())
	t.Logf("beside %d parked readers: heap at most %d MiB, pages p50=%v p99=%v, one-hour streams p50=%v p99=%v",
		parkedReaders, most>>20, besidePages[parkedBeside/2], worst(besidePages), besideStreams[parkedBeside/2], worst(besideStreams))
	if bound := quiet + 256<<20 + parkedOwn; most > bound { // what reads may hold by default, in addition to the idle heap and connections
		t.Errorf("%d MiB of heap, at most %d", most>>20, bound>>20)
	}
	for status := range statuses {
		switch n := statuses[status].Load(); {
		case n > 0 && status != http.StatusOK && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			t.Errorf("status %d: %d readers", status, n)
		case n > 0:
			t.Logf("status %d: %d readers", status, n)
		}
	}
	cancel()
	running.Wait()
}

// TestShortStreamsBesideParkedOnes: 24 streams of three accounts that read
// nothing, each sent in one piece, do not delay a short stream of another
// account.
func TestShortStreamsBesideParkedOnes(t *testing.T) {
	t.Parallel() // it mostly waits
	l := serveParked(t, 20_000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	short := "site=shop.example&includeExportFields=true&capturedFrom=" + l.now.Add(-58*time.Minute).Format(time.RFC3339)
	var running sync.WaitGroup
	for i := range 24 {
		running.Go(func() {
			equals.Is(t, http.StatusOK, l.parked(ctx, contracts.AccountID(i%3+1), short, "", false), "status of a stream that takes nothing")
		})
	}
	goesOn := must.Get(net.Dial("tcp", l.Listener.Addr().String()))(t)
	defer goesOn.Close()
	must.Do(t, goesOn.(*net.TCPConn).SetReadBuffer(128<<10)) // with less than a segment of the loopback it would stall forever
	must.Get(fmt.Fprintf(goesOn, "GET /v1/results/stream?%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", short, l.token(4)))(t)
	running.Wait()
	l.settled(t)
	// The kernel buffers a chunk or two for each, not megabytes: for everything
	// it buffers, ClickHouse would be read.
	if rows := l.service.Stats().StreamRows / 24; runtime.GOOS == "linux" && rows > 1_500 {
		t.Errorf("%d rows were read for each that takes none", rows)
	}
	a := l.plain("/v1/results/stream?"+short, l.token(bystander))
	if a.StatusCode != http.StatusOK || bytes.Count(a.body, []byte("\n")) < 15_000 {
		t.Errorf("%d %.300s", a.StatusCode, a.body)
	}
	resp := must.Get(http.ReadResponse(bufio.NewReader(goesOn), nil))(t)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(rest, a.body) || resp.Trailer.Get("X-Results-Complete") != "true" {
		t.Errorf("a stream that goes on has %d bytes, want %d: %v %v", len(rest), len(a.body), resp.Trailer, err)
	}
}
