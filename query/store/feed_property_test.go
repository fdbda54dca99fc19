package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestFeedIsTheLaterSnapshot checks the promise of a feed on one server.
func TestFeedIsTheLaterSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 323, 150)
	w.cfg.SliceRows = 10_000
	w.listen()
	w.reports()
	at := query.Watermark{Epoch: w.epoch, Seq: w.mark}
	p := &feedProperty{w: w, tables: &oneServer{world: w, version: 7, at: at}, nodes: []*query.Service{w.service}, now: at, steps: effort.Often(12, 23)}
	p.check(t)
}

// feedProperty is the promise of a feed, against random rows with ties and late
// arrivals, two epochs, pages of any size, each read from the next node, grants,
// revocations, tables rebuilt and restored, a server that is away: what a client
// holds is the later snapshot, and each row came once and in order, or the
// client was told to begin again.
type feedProperty struct {
	w      *world
	tables feedTables
	nodes  []*query.Service
	now    query.Watermark
	steps  int
	all    []*feeder
	count  struct{ rows, walks, equal, scope, rebuilt, refused, away int }
}

var feedAccounts = []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}

// begin begins feeds of several accounts and queries.
func (p *feedProperty) begin(t *testing.T) {
	whole := p.w.now.Add(-40 * 24 * time.Hour).Format(time.RFC3339)
	requests := []query.ResultsRequest{
		{},
		{Site: "gamma.example"},
		{OrderID: orderB, CapturedFrom: whole},
		{ItemID: 4, CapturedFrom: whole},
		{EAN: "4006381333931"},
		{Site: "beta.example", CapturedFrom: whole, CapturedTo: p.w.now.Add(-24 * time.Hour).Format(time.RFC3339)}, // late arrivals only
		{OrderID: orderA, CapturedFrom: whole, Filters: query.Filters{Merchant: "Merchant 2's \\ shop"}},
		{Site: "alpha.example", CapturedFrom: whole, Filters: query.Filters{CoverageState: "UNAVAILABLE"}, Include: query.Include{ExportFields: true}},
	}
	for i, a := range feedAccounts {
		for j, q := range requests {
			if (i+j)%effort.Often(3, 2) > 0 {
				continue
			}
			f := &feeder{w: p.w, nodes: p.nodes, account: a, request: q, at: p.now}
			f.begin(t)
			p.all = append(p.all, f)
		}
	}
}

func (p *feedProperty) check(t *testing.T) {
	p.begin(t)
	r, answers := rand.New(rand.NewPCG(32, 3)), rand.New(rand.NewPCG(32, 4))
	for step := range p.steps {
		p.change(t, r, step)
		for _, f := range p.all {
			if r.IntN(4) > 0 && step < p.steps-1 {
				continue // it comes back later
			}
			limit := []int{2, 5, 11, 50, 1000, 10_000}[r.IntN(6)]
			f.answer = []int{0, 1, 1_000, 20_000}[answers.IntN(4)]
			p.follow(t, step, f, limit)
		}
	}
	c := p.count
	t.Logf("nodes=%d feeds=%d steps=%d walks=%d rows=%d equal=%d scope=%d rebuilt=%d refused=%d away=%d",
		len(p.nodes), len(p.all), p.steps, c.walks, c.rows, c.equal, c.scope, c.rebuilt, c.refused, c.away)
	if c.rows < effort.Often(20, 100) || c.scope == 0 || c.rebuilt == 0 || c.equal < effort.Often(8, 25) || c.refused == 0 {
		t.Errorf("too little was seen: %+v", c)
	}
}

// change is what happens in a step before the clients come back.
func (p *feedProperty) change(t *testing.T, r *rand.Rand, step int) {
	w := p.w
	after := time.Duration(0)
	if step%4 == 1 {
		after = 2 * time.Hour // dated ahead of the clock
	}
	switch {
	case step == 6: // the stream lost its tail: rows beyond the checkpoint stay, and a new epoch begins
		w.insert(r, 10, 0)
		w.epoch++
		w.mark = 0
		w.insert(r, 20, 0)
	default:
		w.insert(r, 1+r.IntN(effort.Often(50, 150)), after)
	}
	p.now = p.tables.advance(r, step%5 == 4)
	switch step {
	case 3, 11, 19:
		p.ends(query.CodeFeedScopeChanged, accountWhole, accountOrder, accountSites, accountNone)
		p.tables.regrant(func(pairs mandatePairs) {
			var lost []contracts.Pair
			for pair := range pairs {
				if lost = append(lost, pair); len(lost) == 2 {
					break
				}
			}
			pairs[contracts.Pair{Item: 6, Site: contracts.SiteKey(worldSites[step/8])}] = []contracts.OrderID{orderA, orderB}
			for _, pair := range lost {
				delete(pairs, pair)
			}
		}, func() {
			for _, node := range p.nodes {
				var none string
				err := node.StreamResults(t.Context(), query.Principal{Account: accountWhole}, query.ResultsRequest{ChangesToken: &none}, &lines{})
				if fault.KindOf(err) != fault.Unavailable || none != "" {
					t.Errorf("a token while a grant is filled in: %v", err)
				}
				p.count.refused++
			}
		})
	case 8, 15: // rebuilt: a row appears at an old place
		late := w.rows[r.IntN(len(w.rows))]
		late.capture += 500
		w.rows = append(w.rows, late)
		p.tables.rebuilt(late)
		p.ends(query.CodeFeedHistoryRebuilt, feedAccounts...)
	case 5, 13:
		p.tables.interrupt(func() {
			for _, f := range p.all {
				if _, _, err := f.page(2); fault.KindOf(err) != fault.Unavailable {
					t.Errorf("step %d, account %d, %+v: a page without a server: %v", step, f.account, f.request, err)
				}
				p.count.away++
			}
		})
	case p.steps - 2: // restored from a little before
		p.now = p.tables.restored()
		p.ends(query.CodeFeedHistoryRebuilt, feedAccounts...)
	}
}

// ends notes the refusal that the feeds of some accounts will meet.
func (p *feedProperty) ends(code string, of ...contracts.AccountID) {
	for _, f := range p.all {
		if slices.Contains(of, f.account) && f.ended != query.CodeFeedScopeChanged {
			f.ended = code
		}
	}
}

// follow reads a feed to its end and compares what its client then holds with a
// snapshot.
func (p *feedProperty) follow(t *testing.T, step int, f *feeder, limit int) {
	got, err := f.follow(t, limit)
	p.count.walks++
	if f.ended != "" {
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || e.Kind != fault.Gone || e.Code != f.ended || !strings.Contains(e.Msg, "Prefer: changes-token") {
			t.Fatalf("step %d, account %d, %+v: %v", step, f.account, f.request, err)
		}
		if f.ended == query.CodeFeedScopeChanged {
			p.count.scope++
		} else {
			p.count.rebuilt++
		}
		f.begin(t)
		f.at, f.ended = p.now, ""
		return
	}
	if err != nil {
		t.Fatalf("step %d: account %d: %+v: %v", step, f.account, f.request, err)
	}
	p.count.rows += len(got)
	wanted := f.expected(f.at, p.now)
	if len(got) != len(wanted) {
		t.Fatalf("step %d, account %d, %+v, limit %d: %d rows, expected %d", step, f.account, f.request, limit, len(got), len(wanted))
	}
	for i, row := range wanted {
		is := got[i]
		if at, err := time.Parse(time.RFC3339, is.CapturedAt); err != nil || is.ItemID != fmt.Sprint(row.item) || is.Site != row.site || at.UnixMilli() != row.ms {
			t.Fatalf("step %d: row %d is %+v, expected %+v", step, i, is, row)
		}
	}
	later := map[string]int{}
	f.snapshot(t, later)
	if diff := gocmp.Diff(later, f.rows); diff != "" {
		t.Fatalf("step %d, account %d, %+v: %s", step, f.account, f.request, diff)
	}
	p.count.equal++
	f.at = p.now
}
