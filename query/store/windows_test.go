package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// syncer is a client that holds the rows of a window in parts, and reads again
// only the parts that it must.
type syncer struct {
	feeder
	bucket  string
	digests map[string]string
	parts   map[string]map[string]int // rows by the beginning of the part
	reads   int
	again   int // how often it began again after a refusal
}

func (c *syncer) ask(r query.WindowsRequest) (*query.WindowsPage, error) {
	return c.w.service.Windows(c.w.t.Context(), query.Principal{Account: c.account}, r)
}

// sync brings what is held up to date.
func (c *syncer) sync(t require) {
	r := query.WindowsRequest{Since: c.token}
	if c.token == "" {
		r = query.WindowsRequest{Rows: c.request, Bucket: c.bucket}
	}
	page, err := c.ask(r)
	if gone, ok := errors.AsType[*fault.Error](err); ok && gone.Kind == fault.Gone && strings.Contains(gone.Msg, "by GET /ext/v1/windows?") {
		c.again++
		page, err = c.ask(query.WindowsRequest{Rows: c.request, Bucket: c.bucket})
	}
	if err != nil {
		t.Fatalf("account %d, %+v: %v", c.account, r, err)
	}
	c.token = page.Query.Token
	for _, w := range page.Data {
		if c.digests[w.CapturedFrom] == w.Digest {
			continue
		}
		part := feeder{w: c.w, account: c.account, request: c.request}
		part.request.CapturedFrom, part.request.CapturedTo = w.CapturedFrom, w.CapturedTo
		part.request.GlobalScope = part.request.Everything()
		rows := map[string]int{}
		if w.Rows > 0 {
			part.snapshot(t, rows)
			c.reads++
		}
		n := uint64(0)
		for _, k := range rows {
			n += uint64(k)
		}
		if n != w.Rows {
			t.Fatalf("account %d: %d rows in %+v", c.account, n, w)
		}
		c.parts[w.CapturedFrom], c.digests[w.CapturedFrom] = rows, w.Digest
	}
}

// held returns all rows that the client has.
func (c *syncer) held() map[string]int {
	all := map[string]int{}
	for _, rows := range c.parts {
		for row, n := range rows {
			all[row] += n
		}
	}
	return all
}

// whole returns all rows up to an instant. Without a selector it reads site by
// site, since a read of everything may not be that long.
func (c *syncer) whole(t require, to string) map[string]int {
	f := c.feeder
	f.request.CapturedTo = to
	sites := []string{string(f.request.Site)}
	if f.request.Everything() {
		sites = worldSites
	}
	all := map[string]int{}
	for _, site := range sites {
		f.request.Site = contracts.SiteKey(site)
		f.snapshot(t, all)
	}
	return all
}

// TestSyncedWindowsAreTheRows checks the promise of windows against random
// rows, early and late ones, advancing time, two epochs, grants, revocations,
// tables rebuilt and restored: a client that reads again the windows whose
// digest changed holds what a read of everything returns, and an unchanged
// window is never read again.
func TestSyncedWindowsAreTheRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 327, 150)
	w.cfg.SliceRows = 10_000
	w.listen()
	w.reports()
	r := rand.New(rand.NewPCG(37, 3))
	from := w.now.Add(-6 * 24 * time.Hour).Format(time.RFC3339)
	var all []*syncer
	for n, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
		for i, q := range []query.ResultsRequest{
			{CapturedFrom: from, Timezone: "Europe/Berlin"},
			{CapturedFrom: from, ItemID: 4},
			{CapturedFrom: from, Site: "beta.example", CapturedTo: w.now.Add(-24 * time.Hour).Format(time.RFC3339)}, // late arrivals only
			{CapturedFrom: from, OrderID: orderB, Filters: query.Filters{CoverageState: "UNAVAILABLE"}},
		} {
			if (n+i)%effort.Often(3, 2) > 0 {
				continue
			}
			c := &syncer{feeder: feeder{w: w, account: a, request: q}, bucket: []string{"day", "hour", "week", ""}[i], digests: map[string]string{}, parts: map[string]map[string]int{}}
			c.sync(t)
			all = append(all, c)
		}
	}
	version := uint64(7)
	equal, reads, possible, again := 0, 0, 0, 0
	const restored = 7
	for step := range effort.Often(9, 12) {
		w.now = w.now.Add(time.Duration(r.IntN(20)) * time.Hour)
		if step == 5 { // the stream lost its tail
			w.epoch++
			w.mark = 0
		}
		if step%3 > 0 {
			w.insert(r, 1+r.IntN(40), time.Duration(step%2)*3*time.Hour)
			w.setMark(w.mark)
		}
		switch step {
		case 4, 10:
			version++
			w.regrant(version, func(pairs map[contracts.Pair][]contracts.OrderID) {
				for p := range pairs {
					delete(pairs, p)
					break
				}
				pairs[contracts.Pair{Item: 6, Site: contracts.SiteKey(worldSites[version%4])}] = []contracts.OrderID{orderA, orderB}
			}, func() {
				_, err := all[0].ask(query.WindowsRequest{Rows: all[0].request})
				if fault.KindOf(err) != fault.Unavailable {
					t.Errorf("while a grant is filled in: %v", err)
				}
			})
		case 8: // rebuilt: a row appears at an old place
			late := w.rows[r.IntN(len(w.rows))]
			late.capture += 500
			w.rows = append(w.rows, late)
			w.write([]obsRow{late})
			w.notify("GENERATION")
		case restored: // from a little before: the newest rows are not there again before the next step
			(&oneServer{world: w, at: query.Watermark{Epoch: w.epoch, Seq: w.mark}}).restored()
		}
		for _, c := range all {
			if r.IntN(3) < effort.Often(2, 1) && step != restored {
				continue // it comes back later
			}
			before, began := c.reads, c.again
			c.sync(t)
			if step == restored && c.again == began {
				t.Errorf("account %d, %+v went on after the tables were restored", c.account, c.request)
			}
			reads += c.reads - before
			possible += len(c.parts)
			page := must.Get(c.ask(query.WindowsRequest{Rows: c.request, Bucket: c.bucket}))(t)
			if len(page.Data) != page.Query.Windows {
				t.Fatalf("%d windows of %d", len(page.Data), page.Query.Windows)
			}
			if diff := gocmp.Diff(c.whole(t, page.Data[len(page.Data)-1].CapturedTo), c.held()); diff != "" {
				t.Fatalf("step %d, account %d, %+v: %s", step, c.account, c.request, diff)
			}
			for _, now := range page.Data {
				if now.Digest != c.digests[now.CapturedFrom] || (now.State == query.WindowOpen) != strings.HasPrefix(now.CapturedTo, later(w.now, now.CapturedTo)) {
					t.Fatalf("step %d: %+v", step, now)
				}
			}
			idle := c.reads
			if c.sync(t); c.reads != idle {
				t.Fatalf("step %d: read again without another row", step)
			}
			equal++
		}
	}
	for _, c := range all {
		again += c.again
	}
	t.Logf("clients=%d equal=%d windows_read=%d of=%d began_again=%d", len(all), equal, reads, possible, again)
	if equal < effort.Often(12, 50) || reads == 0 || reads*4 > possible || again == 0 {
		t.Error("too little was seen, or too much was read")
	}
}

// later returns the instant if it is still in the future; otherwise a text that
// no instant begins with.
func later(now time.Time, instant string) string {
	if at, err := time.Parse(time.RFC3339, instant); err == nil && at.Before(now) {
		return "-"
	}
	return instant
}

// Requests for which there are no windows are refused, and a token belongs to
// its account.
func TestWindowsRefusals(t *testing.T) {
	w := newWorld(t, 328, 20)
	p := query.Principal{Account: accountWhole}
	page := must.Get(w.service.Windows(t.Context(), p, query.WindowsRequest{Rows: query.ResultsRequest{CapturedFrom: "2026-02-20"}}))(t)
	token := page.Query.Token
	for want, r := range map[string]query.WindowsRequest{
		"capturedFrom":  {},
		"bucket: \"mo":  {Rows: query.ResultsRequest{CapturedFrom: "2026-02-20"}, Bucket: "month"},
		"bucket: the t": {Since: token, Bucket: "day"},
		"1000 parts":    {Rows: query.ResultsRequest{CapturedFrom: "2025-02-20"}, Bucket: "hour"},
		"in the future": {Rows: query.ResultsRequest{CapturedFrom: "2036-02-20"}},
		"lies after":    {Rows: query.ResultsRequest{CapturedFrom: "2026-02-20", CapturedTo: "2026-02-18"}},
		"latestPerPair": {Rows: query.ResultsRequest{CapturedFrom: "2026-02-20", LatestPerPair: true}},
		"since: the t":  {Since: token, Rows: query.ResultsRequest{CapturedFrom: "2026-02-20"}},
		"since: it is":  {Since: token[:8] + "AAAA" + token[8:]},
	} {
		_, err := w.service.Windows(t.Context(), p, r)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := w.service.Windows(t.Context(), query.Principal{Account: accountOther}, query.WindowsRequest{Since: token}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("another account: %v", err)
	}
	if _, err := w.service.Windows(t.Context(), p, query.WindowsRequest{Since: token}); err != nil {
		t.Errorf("its own: %v", err)
	}
}
