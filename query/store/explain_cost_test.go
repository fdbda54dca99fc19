package store_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/store"
)

// setProvenMark is setMark with the number of rows.
func (w *world) setProvenMark(seq, rows uint64) {
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq, proven, rows) VALUES ('OBSERVATIONS', 0, ?, ?, true, ?)", w.epoch, seq, rows)
}

// TestExplainedRemembered: an explanation is repeated while the rows that came
// since cannot make it larger, for the same window, mandate and generation, and
// only where projectors count rows.
func TestExplainedRemembered(t *testing.T) {
	w := newWorld(t, 74, 1_000)
	w.notify("CATALOG")
	w.notify("IN_FORCE")
	asked := w.listen()
	explain := func(a contracts.AccountID, from string) (scanned uint64, statements int) {
		var e query.Explanation
		r := query.ResultsRequest{CapturedFrom: from, CapturedTo: "2026-03-08", Limit: ptr(10)}
		r.GlobalScope = true
		if _, err := w.service.Results(query.Explain(t.Context(), &e), query.Principal{Account: a}, r); !errors.Is(err, query.ErrExplained) {
			t.Fatal(err)
		}
		return *e.Scanned, len(asked.take("rows_at_most"))
	}
	const week, day = "2026-03-02", "2026-03-07"
	first := uint64(0)
	for i, step := range []struct {
		what       string
		seq, rows  uint64 // 0: no checkpoint
		account    contracts.AccountID
		from       string
		statements int
	}{
		{"at first", w.mark + 1, 10_000, accountWhole, week, 1},
		{"again", 0, 0, accountWhole, week, 0},
		{"a row later", w.mark + 2, 10_001, accountWhole, week, 0},
		{"another window", 0, 0, accountWhole, day, 1},
		{"another mandate", 0, 0, accountOther, week, 1},
		{"narrowed", 0, 0, accountSites, week, 1},
		{"many rows later", w.mark + 3, 10_001 + 1<<20, accountWhole, week, 1},
		{"again", 0, 0, accountWhole, week, 0},
		{"fewer rows", w.mark + 4, 10_000, accountWhole, week, 1},
		{"not proven", w.mark + 5, 0, accountWhole, week, 1},
		{"not proven, again", 0, 0, accountWhole, week, 1},
		{"proven", w.mark + 6, 20_000, accountWhole, week, 1},
		{"proven, again", 0, 0, accountWhole, week, 0},
		{"rebuilt", 0, 1, accountWhole, week, 1},
	} {
		switch {
		case step.seq == 0 && step.rows > 0:
			w.notify("GENERATION")
		case step.seq > 0 && step.rows > 0:
			w.setProvenMark(step.seq, step.rows)
		case step.seq > 0:
			w.setMark(step.seq)
		}
		scanned, statements := explain(step.account, step.from)
		if statements != step.statements {
			t.Errorf("%s: %d statements", step.what, statements)
		}
		if i == 0 {
			first = scanned
		} else if step.account == accountWhole && step.from == week && scanned != first {
			t.Errorf("%s: %d rows, at first %d", step.what, scanned, first)
		}
	}
}

// TestExplainedCost: explaining a read costs less than a tenth of it, or of a page
// of rows, whichever is more, in rows and in bytes that ClickHouse reads, also the
// first time, when the pairs are counted, and at most half of the time, comparing the
// least of several. On a node that explained such a read before, it takes one
// statement, the one for the current watermark. Each turn has its own watermark, so
// that no rows are remembered.
func TestExplainedCost(t *testing.T) {
	w := newWorld(t, 73, 0)
	const products = 500
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(?)", products)
	w.exec("INSERT INTO scopes VALUES (2, 8, ?, ?)", products, products)
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, title, url)
		SELECT 2, -toInt64(? - intDiv(number, ?) * 3600000 - number % ?), number % ? + 1, 'alpha.example', ?, number + 1, 0, 0, 'priceObserved', 'EUR', 1000 + cityHash64(number) % 500, -1, concat('M', toString(number % 7)), 0, 0, 255,
			concat('Title of a product ', toString(number % ?)), concat('https://alpha.example/p/', toString(number % ?))
		FROM numbers(200000)`, w.now.UnixMilli(), products, products, products, uint32(epoch), products, products)
	w.exec(`INSERT INTO latest_observations SELECT item, site, max(-captured_desc), argMin(epoch, captured_desc), argMin(seq, captured_desc), 0, 'priceObserved', [0], ['EUR'], [1000], [-1], ['M1'], [0], [0], [255], [''], ['Title of a product'], ['https://alpha.example/p/1'], ['']
		FROM observations_by_mandate WHERE mandate = 2 AND site = 'alpha.example' GROUP BY item, site`)
	w.cfg.PairRows = store.Defaults().PairRows
	asked := w.listen()
	w.notify("CATALOG")
	w.notify("IN_FORCE")
	account := query.Principal{Account: accountOther}
	rows := query.ResultsRequest{CapturedFrom: w.now.Add(-15 * 24 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Format(time.RFC3339), OrderID: orderC}
	page := rows
	page.Limit, page.Include = ptr(query.MaxResultsLimit), query.Include{ExportFields: true}
	w.setProvenMark(1<<40, 200_000)
	if _, err := w.service.Results(t.Context(), account, query.ResultsRequest{Site: "beta.example"}); err != nil { // the caller becomes known
		t.Fatal(err)
	}
	seq := uint64(1 << 40)
	var onePage cost
	for _, read := range []struct {
		name string
		ask  func(context.Context) error
	}{
		{"a page", func(ctx context.Context) error {
			found, err := w.service.Results(ctx, account, page)
			if err == nil {
				found.Rows.Release()
			}
			return err
		}},
		{"statistics", func(ctx context.Context) error {
			_, err := w.service.Statistics(ctx, account, query.StatisticsRequest{ResultsRequest: rows})
			return err
		}},
		{"movers", func(ctx context.Context) error {
			_, err := w.service.Movers(ctx, account, query.MoversRequest{ResultsRequest: query.ResultsRequest{OrderID: orderC}, Since: rows.CapturedFrom, Until: rows.CapturedTo})
			return err
		}},
		{"windows", func(ctx context.Context) error {
			_, err := w.service.Windows(ctx, account, query.WindowsRequest{Rows: rows})
			return err
		}},
	} {
		var made, explained []cost
		for range 5 {
			seq++
			w.setProvenMark(seq, 200_000+10*(seq-1<<40))
			explained = append(explained, costOf(asked, func() {
				var e query.Explanation
				if err := read.ask(query.Explain(t.Context(), &e)); !errors.Is(err, query.ErrExplained) || e.Rows == nil || *e.Pairs != products {
					t.Fatalf("%s: %v, %+v", read.name, err, e)
				}
			}))
			made = append(made, costOf(asked, func() { must.Do(t, read.ask(t.Context())) }))
		}
		whole, first, again := made[len(made)-1], explained[0], explained[len(explained)-1]
		t.Logf("%s took %s and read %d rows in %d bytes; its first explanation %s, %d and %d by %d statements, the last one %d and %d by %d, at least %s",
			read.name, least(made), whole.rows, whole.bytes, first.took, first.rows, first.bytes, first.statements, again.rows, again.bytes, again.statements, least(explained))
		if read.name == "a page" {
			onePage = whole
		}
		for _, e := range explained {
			if e.rows == 0 || e.rows*10 > max(whole.rows, onePage.rows) || e.bytes*10 > max(whole.bytes, onePage.bytes) {
				t.Errorf("%s: explaining it reads %d rows in %d bytes, it reads %d in %d", read.name, e.rows, e.bytes, whole.rows, whole.bytes)
			}
		}
		if again.statements > 1 {
			t.Errorf("%s: explaining it takes %d statements", read.name, again.statements)
		}
		if least(explained)*2 > least(made) {
			t.Errorf("%s: explaining it takes %s, it takes %s", read.name, least(explained), least(made))
		}
	}
}

// cost is what a read took, and what its statements read.
type cost struct {
	took                    time.Duration
	bytes, rows, statements uint64
	of                      map[string]int // statements by name
}

func costOf(asked *statements, ask func()) (c cost) {
	asked.take()
	began := time.Now()
	ask()
	c.took = time.Since(began)
	c.of = map[string]int{}
	for _, a := range asked.take() {
		c.of[a.Statement]++
		c.bytes, c.rows, c.statements = c.bytes+a.Bytes, c.rows+a.Rows, c.statements+1
	}
	return c
}

// least is the least time.
func least(all []cost) time.Duration {
	return slices.MinFunc(all, func(a, b cost) int { return cmp.Compare(a.took, b.took) }).took
}

// median is the median time.
func median(all []cost) time.Duration {
	took := make([]time.Duration, len(all))
	for i, c := range all {
		took[i] = c.took
	}
	slices.Sort(took)
	return took[len(took)/2]
}
