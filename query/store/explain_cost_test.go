package store_test

import (
	"errors"
	"testing"
	"time"

	"preismon/contracts"
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
	w.told("CATALOG")
	w.told("IN_FORCE")
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
			w.told("GENERATION")
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

// TestExplainedCost: explaining a page costs less than a tenth of the page, in
// rows and in bytes that ClickHouse reads for it. On a node that explained such
// a page before, it takes one statement, the one for the current watermark. The
// time is logged. Each round has its own watermark, so that no rows are
// remembered.
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
	w.cfg.PairRows = store.Defaults().PairRows
	asked := w.listen()
	w.told("CATALOG")
	w.told("IN_FORCE")
	who := query.Principal{Account: accountOther}
	request := query.ResultsRequest{Limit: ptr(query.MaxResultsLimit), CapturedFrom: w.now.Add(-20 * 24 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Format(time.RFC3339), Include: query.Include{ExportFields: true}}
	request.OrderID = orderC
	type cost struct {
		took                    time.Duration
		bytes, rows, statements uint64
	}
	measured := func(ask func()) (c cost) {
		asked.take()
		began := time.Now()
		ask()
		c.took = time.Since(began)
		for _, a := range asked.take() {
			c.bytes, c.rows, c.statements = c.bytes+a.Bytes, c.rows+a.Rows, c.statements+1
		}
		return c
	}
	var page, explanation cost
	for turn := range uint64(2) { // the second counts
		w.setProvenMark(1<<40+turn, 200_000+10*turn)
		explanation = measured(func() {
			var e query.Explanation
			if _, err := w.service.Results(query.Explain(t.Context(), &e), who, request); !errors.Is(err, query.ErrExplained) || e.Rows == nil || *e.Rows != query.MaxResultsLimit {
				t.Fatalf("%v, %d %d %d", err, *e.Rows, *e.Pairs, *e.Scanned)
			}
		})
		page = measured(func() {
			page, err := w.service.Results(t.Context(), who, request)
			if err != nil || page.Rows.Len() != query.MaxResultsLimit {
				t.Fatalf("%v, %d rows", err, page.Rows.Len())
			}
			page.Rows.Release()
		})
	}
	t.Logf("a page took %s and read %d rows in %d bytes, its explanation %s, %d and %d, by %d statements",
		page.took, page.rows, page.bytes, explanation.took, explanation.rows, explanation.bytes, explanation.statements)
	if explanation.rows == 0 || explanation.rows*10 > page.rows || explanation.bytes*10 > page.bytes {
		t.Errorf("more than a tenth")
	}
	if explanation.statements > 1 {
		t.Errorf("it takes %d statements", explanation.statements)
	}
}
