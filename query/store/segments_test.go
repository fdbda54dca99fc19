package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/table"
	"preismon/query/table/tabletest"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestRememberedStreamsAreTheRows: what a node sends of remembered text is what
// it would read, byte for byte, while rows arrive late and dated ahead, batches
// are incomplete, scopes change, prices of reference change, tables are rebuilt
// and restored, and parts are evicted.
func TestRememberedStreamsAreTheRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 661, 400)
	w.cfg.SliceRows = effort.Often(10_000, 150)
	w.listen()
	w.reports()
	limits := func(remember int64, check bool, folder ...string) *query.Service {
		return w.over(w.store, func(c *query.Config) {
			if c.SoftDeadline, c.HardBudget = time.Minute, time.Minute; len(folder) > 0 {
				c.RememberStreamFolder, c.RememberStreamDisk = folder[0], 1<<20
			}
			c.RememberStreamBytes, c.CheckRemembered = remember, check
			if check || len(folder) > 0 { // they know what arrives
				c.Untouched = w.untouched
			}
		})
	}
	never := limits(0, false)
	nodes := map[string]*query.Service{"remembers": limits(64<<20, false), "compares": limits(64<<20, true), "evicts": limits(12<<10, false), "to disk": limits(12<<10, false, t.TempDir())}
	r := rand.New(rand.NewPCG(66, 1))
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	day := func(back int, rest time.Duration) string {
		return w.now.Add(-time.Duration(back)*24*time.Hour - rest).Format(time.RFC3339)
	}
	requests := []query.ResultsRequest{
		{GlobalScope: true, CapturedFrom: day(2, 0), CapturedTo: day(0, 0)},
		{GlobalScope: true, CapturedFrom: day(6, 90*time.Minute), CapturedTo: day(1, 17*time.Minute), Sort: "asc", Include: query.Include{CustomerData: true}},
		{GlobalScope: true, CapturedFrom: "2026-03-03", CapturedTo: "2026-03-07", Timezone: "Asia/Kathmandu", Include: query.Include{ExportFields: true}},
		{Site: "market.example", CapturedFrom: day(30, 0), Include: query.Include{ExportFields: true, Identity: true, OrderIDs: true, CustomerData: true}},
		{OrderID: orderB, CapturedFrom: day(10, 0), Sort: "asc"},
		{ItemID: 4, CapturedFrom: day(9, 5*time.Hour), CapturedTo: day(1, 0)},
		{EAN: "4006381333931", CapturedFrom: day(8, 0), Filters: query.Filters{Merchant: "Merchant 2's \\ shop"}},
		{Site: "gamma.example", CapturedFrom: day(3, 0), Include: query.Include{Coverage: true}}, // is never remembered
		{},
	}
	text := func(s *query.Service, a contracts.AccountID, q query.ResultsRequest) string {
		var got lines
		if err := s.StreamResults(t.Context(), query.Principal{Account: a}, q, &got); err != nil {
			t.Fatalf("account %d, %+v: %v", a, q, err)
		}
		if got.starts != 1 {
			t.Fatalf("account %d, %+v: started %d times", a, q, got.starts)
		}
		return fmt.Sprintf("%s %d\n%s", got.scope, got.rows, got.text.String())
	}
	// asTable is the same as a table, whose sections may have been cut elsewhere.
	asTable := func(s *query.Service, a contracts.AccountID, q query.ResultsRequest, f tableForm) []tabletest.Record {
		got := f.collect(q.Include, table.SortingOf(q.Sort != "asc"))
		must.Do(t, s.StreamResults(t.Context(), query.Principal{Account: a}, q, got))
		all := must.Get(got.records())(t)
		if len(all) != got.rows || got.starts != 1 {
			t.Fatalf("account %d, %+v, %s: started %d times, %d rows of %d", a, q, f.name, got.starts, len(all), got.rows)
		}
		return all
	}
	type read struct {
		account contracts.AccountID
		request int
	}
	type had struct{ tag, text string }
	clients := map[read]had{} // what they got last, from whichever node
	var unchanged, changed int
	// conditionally reads a stream with the tag of the answer before.
	conditionally := func(s *query.Service, of read, want string) {
		t.Helper()
		var got lines
		before, q := clients[of], requests[of.request]
		q.Condition = &query.Condition{Form: "lines"}
		if before.tag != "" {
			q.Condition.Tags = []string{"AAAA", before.tag}
		}
		caller := query.Principal{Account: of.account}
		same, err := s.Unchanged(t.Context(), caller, q)
		switch {
		case err != nil:
			t.Fatal(err)
		case same:
			unchanged++
			if before.text != want || q.Condition.Tag != before.tag {
				t.Fatalf("account %d, %+v: not what the client has: %s", of.account, q, gocmp.Diff(before.text, want))
			}
			return
		case before.tag != "" && before.text != want:
			changed++
		}
		must.Do(t, s.StreamResults(t.Context(), caller, q, &got))
		if got := fmt.Sprintf("%s %d\n%s", got.scope, got.rows, got.text.String()); got != want {
			t.Fatal(gocmp.Diff(want, got))
		}
		clients[of] = had{q.Condition.Tag, want}
	}
	version := uint64(7)
	steps, compared, rows := effort.Often(14, 20), 0, 0
	for step := range steps {
		switch before := w.mark; {
		case step%7 == 3:
			version++
			w.regrant(version, func(pairs map[contracts.Pair][]contracts.OrderID) {
				for p := range pairs {
					delete(pairs, p)
					break
				}
				pairs[contracts.Pair{Item: 6, Site: contracts.SiteKey(worldSites[version%4])}] = []contracts.OrderID{orderA, orderB}
			}, func() {
				for name, s := range nodes { // while the grant is filled in
					if diff := gocmp.Diff(text(never, accountWhole, requests[0]), text(s, accountWhole, requests[0])); diff != "" {
						t.Fatalf("%s: %s", name, diff)
					}
				}
			})
		case step%14 == 5:
			w.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (1, %d, [(%d, 'EUR', '', '', '')], %d)", 1+r.IntN(6), r.IntN(9_000), step))
		case step%14 == 12:
			w.exec(fmt.Sprintf("INSERT INTO customer_data VALUES (1, %d, 'A', {'shelf': '%d'}, %d)", 1+r.IntN(6), step, step))
		case step == 8: // rebuilt: rows appear at old places
			late := slices.Clone(w.rows[:100])
			for i := range late {
				late[i].capture += 500
			}
			w.rows = append(w.rows, late...)
			w.write(late)
			w.notify("GENERATION")
		case step == 9: // the stream lost its tail
			w.insert(r, 10, 0)
			w.epoch++
			w.mark = 0
			w.insert(r, 20, 0)
			w.setMark(w.mark)
		case step == 11: // restored from a little before
			w.exec("TRUNCATE TABLE checkpoints")
			w.setMark(w.mark - min(3, w.mark-1))
			for _, stream := range []string{"CATALOG", "IN_FORCE", "GENERATION"} {
				w.notify(stream)
			}
		case step%4 > 0:
			w.insert(r, 1+r.IntN(3), time.Duration(r.IntN(3))*time.Hour)
			now := w.mark
			if step%5 == 4 && now > before+2 { // an incomplete batch
				now -= 2
			}
			w.setMark(now)
		case step == 13:
			w.insert(r, 1_100, 0) // more than are looked through for late ones
			w.setMark(w.mark)
		}
		for i, a := range accounts {
			for j, q := range requests {
				if (i+2*j)%effort.Often(11, 7) > 0 {
					continue
				}
				want, f := text(never, a, q), tableForms[j%len(tableForms)]
				var wanted []tabletest.Record
				if q.Timezone == "" {
					wanted = asTable(never, a, q, f)
				}
				for name, s := range nodes {
					if name == "compares" && step%3 > 0 { // it reads each segment again
						continue
					}
					if diff := gocmp.Diff(want, text(s, a, q)); diff != "" {
						t.Fatalf("step %d, %s, account %d, %+v: %s", step, name, a, q, diff)
					}
					compared++
					if q.Timezone == "" {
						if diff := gocmp.Diff(wanted, asTable(s, a, q, f)); diff != "" {
							t.Fatalf("step %d, %s, account %d, %+v, %s: %s", step, name, a, q, f.name, diff)
						}
					}
					conditionally(s, read{a, j}, want)
				}
			}
		}
	}
	for name, s := range nodes {
		is := s.Stats()
		t.Logf("%s: %d of %d rows of %d streams were remembered, %d compared, %d evicted, %d read from disk", name, is.Replayed, is.StreamRows, is.Streams, is.Checked, is.RememberedStreams.Evictions, is.StreamsOnDisk.Hits)
		rows += int(is.Replayed)
		if is.Replayed == 0 || is.Replayed*4 < is.StreamRows && name == "remembers" || is.Differences > 0 {
			t.Errorf("%s: %+v", name, is)
		}
	}
	if without, with := nodes["evicts"].Stats(), nodes["to disk"].Stats(); with.Replayed <= without.Replayed || with.StreamsOnDisk.Hits == 0 {
		t.Errorf("the disk gains nothing: %+v, %+v", without, with)
	}
	if never.Stats().Replayed > 0 {
		t.Error("rows are remembered where nothing may be")
	}
	if unchanged < effort.Often(5, 20) || changed < effort.Often(2, 5) {
		t.Errorf("%d answers were unchanged, %d changed", unchanged, changed)
	}
	t.Logf("%d unchanged, %d changed", unchanged, changed)
	t.Logf("%d streams compared, %d rows of them remembered", compared, rows)
}

// TestLargeDaysAreRememberedByHours: a day whose text is larger than that of a
// segment may be is remembered in hours.
func TestLargeDaysAreRememberedByHours(t *testing.T) {
	w := newWorld(t, 663, 6_000)
	w.listen()
	w.reports()
	s := w.over(w.store, func(c *query.Config) { c.RememberStreamBytes = 128 << 10 }) // of which a segment may have 4 KiB
	q := query.ResultsRequest{Site: "market.example", CapturedFrom: w.now.Add(-30 * 24 * time.Hour).Format(time.RFC3339), Include: query.Include{ExportFields: true}}
	var again []uint64
	for round := 0; round < 6 || round < 30 && again[round-1] < 300; round++ { // until what is read often has won its place
		before := s.Stats().Replayed
		must.Do(t, s.StreamResults(t.Context(), query.Principal{Account: accountWhole}, q, &lines{}))
		again = append(again, s.Stats().Replayed-before)
	}
	if again[2] > 200 || again[len(again)-1] < 300 { // days first, of which most are too large
		t.Errorf("of %d rows, %d were remembered", s.Stats().StreamRows/uint64(len(again)), again)
	}
}

// slowly are lines that are received with pauses.
type slowly struct{ lines }

func (l *slowly) Send(ndjson []byte, rows int) error {
	time.Sleep(5 * time.Millisecond)
	return l.lines.Send(ndjson, rows)
}

// TestRememberedStreamsSideBySide: streams that began at different moments, some
// of them slow, each get the rows of one moment, although they remember and
// replace each other's text.
func TestRememberedStreamsSideBySide(t *testing.T) {
	w := newWorld(t, 662, 300)
	w.listen()
	w.reports()
	service := func(remember int64) *query.Service {
		return w.over(w.store, func(c *query.Config) { c.RememberStreamBytes = remember })
	}
	never, node := service(0), service(64<<20)
	q := query.ResultsRequest{GlobalScope: true, CapturedFrom: w.now.Add(-24 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Add(-time.Hour).Format(time.RFC3339)}
	caller := query.Principal{Account: accountWhole}
	var mu sync.Mutex
	var moments []string   // text at each
	var begun atomic.Int64 // moments, noted or about to be
	note := func() {
		t.Helper()
		var now lines
		must.Do(t, never.StreamResults(t.Context(), caller, q, &now))
		mu.Lock()
		defer mu.Unlock()
		moments = append(moments, now.text.String())
	}
	begun.Add(1)
	note()
	done := make(chan struct{})
	var readers sync.WaitGroup
	var streams atomic.Int64
	for n := range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				from := len(moments) - 1
				mu.Unlock()
				got, slow := &lines{}, &slowly{}
				var to query.ResultsStream = got
				if n%2 == 1 {
					got, to = &slow.lines, slow
				}
				if err := node.StreamResults(t.Context(), caller, q, to); err != nil {
					t.Error(err)
					return
				}
				var among []string
				for begun := begun.Load(); from+len(among) < int(begun); time.Sleep(time.Millisecond) {
					mu.Lock()
					among = slices.Clone(moments[from:])
					mu.Unlock()
				}
				if !slices.Contains(among, got.text.String()) {
					t.Errorf("a stream has the rows of none of %d moments", len(among))
					return
				}
				streams.Add(1)
			}
		})
	}
	r := rand.New(rand.NewPCG(66, 2))
	for range effort.Often(20, 100) {
		w.mark++
		row := obsRow{
			item: 1 + r.Uint64N(4), site: worldSites[r.IntN(3)], epoch: w.epoch, seq: w.mark, outcome: contracts.Unavailable, price: -1,
			ms: w.now.Add(-time.Hour - time.Duration(r.IntN(23*60))*time.Minute).UnixMilli(),
		}
		w.rows = append(w.rows, row)
		w.write([]obsRow{row})
		begun.Add(1)
		w.setMark(w.mark)
		note()
	}
	close(done)
	readers.Wait()
	is := node.Stats()
	t.Logf("%d streams, %d of %d rows were remembered", streams.Load(), is.Replayed, is.StreamRows)
	if streams.Load() < 10 || is.Replayed == 0 {
		t.Error("too little was seen")
	}
}

// TestContentIsNotOlderThanItsVersions: what was read of the catalogue before a
// record changed is not remembered under its new version, although the change
// is in the tables before it is announced.
func TestContentIsNotOlderThanItsVersions(t *testing.T) {
	for name, c := range map[string]struct {
		include query.Include
		change  string
	}{
		"reference price": {query.Include{ExportFields: true}, "INSERT INTO reference_prices VALUES (1, 4, [(1234, 'EUR', '', '', '')], 9)"},
		"customer data":   {query.Include{CustomerData: true}, "INSERT INTO customer_data VALUES (1, 4, 'A', {'shelf': '9'}, 9)"},
		"site":            {query.Include{ExportFields: true}, "INSERT INTO sites SELECT * REPLACE(NOT canonical_country_market AS canonical_country_market, 9 AS version) FROM sites FINAL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 663, 200)
			w.listen()
			w.reports()
			caller := query.Principal{Account: accountWhole}
			q := query.ResultsRequest{ItemID: 4, CapturedFrom: w.now.Add(-200 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Add(-time.Hour).Format(time.RFC3339), Include: c.include}
			node, never := w.service, w.over(w.store, func(c *query.Config) { c.RememberStreamBytes = 0 })
			page := must.Get(node.Results(t.Context(), caller, q))(t)
			page.Rows.Release()
			must.Do(t, w.conn.Exec(t.Context(), c.change)) // not announced
			read := func(s *query.Service) (string, string) {
				t.Helper()
				var got lines
				q.Condition = &query.Condition{}
				must.Do(t, s.StreamResults(t.Context(), caller, q, &got))
				return got.text.String(), q.Condition.Tag
			}
			before, tag := read(node)
			for range 3 {
				if _, again := read(node); again == "" || tag == "" {
					t.Fatal("a window that is over has no tag")
				}
			}
			w.notify("CATALOG")
			w.notify("IN_FORCE")
			w.written.Store(&event.Written{})
			want, _ := read(never)
			q.Condition = &query.Condition{Tags: []string{tag}}
			same := must.Get(node.Unchanged(t.Context(), caller, q))(t)
			if same && before != want {
				t.Error("a tag is of rows that have changed")
			}
			for range 3 {
				if got, _ := read(node); got != want {
					t.Fatal(gocmp.Diff(want, got))
				}
			}
		})
	}
}
