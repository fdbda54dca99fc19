package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"preismon/contracts/event"
)

// Tails belong to accounts of some small mandates, each with as many as an
// account may have. Those of a mandate are equal, and share their reads.
const (
	tailsOfAccount = 4
	tailMandates   = 25
	firstMandate   = 41
	firstAccount   = 50_000
	tailTarget     = 0.5 // seconds, at the 99th percentile
)

var tailCounts = []int{1, 100, 1_000}

// tailing are open tails, and what arrived on them.
type tailing struct {
	counts atomic.Bool // rows are measured
	mu     sync.Mutex
	waits  []float64 // seconds from capture, which is the time of publishing, to the client
	rows   int64
	bytes  int64
	broken error
}

// measureTails follows the changes of many accounts on one node, while events
// arrive at a steady rate: how long a row takes from its publisher to the
// client, and what it costs the node.
func (r *run) measureTails(ctx context.Context) { r.withFlow(ctx, r.allTails) }

func (r *run) allTails(ctx context.Context, f *flow) {
	most := 0 // accounts: the tails of the previous count may not have ended yet
	for _, n := range tailCounts {
		most += (n + tailsOfAccount - 1) / tailsOfAccount
	}
	if r.exec(ctx, fmt.Sprintf(`INSERT INTO %s.accounts (account, mandate, login_identifier, administrative, disabled, permissions, all_orders, all_sites, version)
SELECT %d + number, %d + number %% %d, concat('tail', toString(number), '@example.com'), 0, 0, ['results'], 1, 1, 1 FROM numbers(%d)`,
		r.world.database, firstAccount, firstMandate, tailMandates, most)); r.err != nil {
		return
	}
	p := r.data.producer(r.Seed+3, time.Now().UTC())
	t := r.table("Publish to tail at 5,000 events a second",
		fmt.Sprintf("of %d mandates, %d equal tails each at the most; rows are those of all tails", tailMandates, tailCounts[len(tailCounts)-1]/tailMandates))
	account := uint64(firstAccount)
	for _, n := range tailCounts {
		s, p99 := r.tails(ctx, f, p, account, n)
		account += uint64((n + tailsOfAccount - 1) / tailsOfAccount)
		if r.err != nil {
			r.err = fmt.Errorf("%d tails: %w", n, r.err)
			return
		}
		t.Series = append(t.Series, s)
		r.put(fmt.Sprintf("publish_to_tail_%d_p99_seconds", n), fmt.Sprintf("publish to tail at 5,000 events/s, %d tails on a node, p99", n), "s", p99, tailTarget, true, "")
	}
}

func (r *run) tails(ctx context.Context, f *flow, p *producer, account uint64, n int) (s Series, p99 spread) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	all := &tailing{}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	for i := range n {
		resp := r.send(ctx, request{
			base: r.world.nodes[r.world.database].url, account: account + uint64(i/tailsOfAccount), client: client, path: "/ext/v1/changes", query: url.Values{"follow": {"true"}},
		})
		if r.err != nil {
			return s, p99
		}
		reading.Go(func() {
			defer resp.Body.Close() //nolint:errcheck // it was read
			if err := all.read(resp.Body); ctx.Err() == nil {
				all.mu.Lock()
				defer all.mu.Unlock()
				all.broken = errors.Join(all.broken, err, errors.New("a tail ended"))
			}
		})
	}
	defer r.profileNode(ctx, fmt.Sprintf("tails-%d", n))()
	const warm = 2 * time.Second
	pid := r.world.nodes[r.world.database].pid()
	began, skip := time.Now(), int(warm.Seconds()*visibleRate)
	sent, peak := 0, 0.0
	took, err := f.publish(ctx, p, skip+int(r.size.tails.Seconds()*visibleRate), func(*event.Event) {
		if sent++; sent == skip {
			all.counts.Store(true)
		}
		if sent%(visibleRate/10) == 0 {
			if now, _, err := resident(pid); err == nil {
				peak = max(peak, now)
			}
		}
	})
	if r.failed(err) || r.failed(pause(ctx, time.Second)) { // for what is under way
		return s, p99
	}
	work := r.work(ctx, r.world.database, began, byMandate)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.broken != nil || len(all.waits) == 0 {
		r.failed(errors.Join(all.broken, fmt.Errorf("%d rows", len(all.waits))))
	}
	statements := ""
	for _, w := range work {
		statements = fmt.Sprintf(", %.0f statements a second of %.1f ms of a processor", float64(w.Queries)/took.Seconds(), w.CPU/float64(w.Queries)*1000)
	}
	s = Series{Name: fmt.Sprintf("%d tails", n), Rows: all.rows, Bytes: all.bytes, Note: fmt.Sprintf(
		"%.0f events a second, p50 %s, p99 %s, greatest %s, node %.0f MiB resident%s", float64(sent)/took.Seconds(),
		milliseconds(quantile(all.waits, 0.5)), milliseconds(quantile(all.waits, 0.99)), milliseconds(quantile(all.waits, 1)), peak, statements)}
	return s, spreadOf(all.waits, 0.99)
}

// read reads the lines of a tail.
func (t *tailing) read(body io.Reader) error {
	lines := bufio.NewReaderSize(body, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		now := time.Now()
		_, at, ok := bytes.Cut(line, []byte(`"capturedAt":"`))
		if !ok || !t.counts.Load() {
			continue
		}
		at, _, _ = bytes.Cut(at, []byte{'"'})
		captured, err := time.Parse(time.RFC3339, string(at))
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.rows++
		t.bytes += int64(len(line))
		t.waits = append(t.waits, now.Sub(captured).Seconds())
		t.mu.Unlock()
	}
}
