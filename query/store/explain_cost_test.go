package store_test

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"preismon/query"
	"preismon/query/store"
)

// TestExplainedCost: to explain a page costs less than a tenth of the page, in
// rows and in bytes that ClickHouse reads for all of its statements, and takes no
// more than two of them on a node that was asked for the scope before. How long
// that takes is logged: it is the way to the server and back twice, and the
// planning of the page's statement, whatever the page is. Each turn is as of a
// watermark of its own, so that no rows are remembered.
func TestExplainedCost(t *testing.T) {
	w := newWorld(t, 73, 0)
	const products, turns = 500, 5
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(?)", products)
	w.exec("INSERT INTO scopes VALUES (2, 8, ?, ?)", products, products)
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, title, url)
		SELECT 2, -toInt64(? - intDiv(number, ?) * 3600000 - number % ?), number % ? + 1, 'alpha.example', ?, number + 1, 0, 0, 'priceObserved', 'EUR', 1000 + cityHash64(number) % 500, -1, concat('M', toString(number % 7)), 0, 0, 255,
			concat('Title of a product ', toString(number % ?)), concat('https://alpha.example/p/', toString(number % ?))
		FROM numbers(200000)`, w.now.UnixMilli(), products, products, products, uint32(epoch), products, products)
	var mu sync.Mutex
	var bytes, rows, statements uint64
	w.cfg.PairRows = store.Defaults().PairRows
	w.cfg.Asked = func(a store.Asked) { mu.Lock(); defer mu.Unlock(); bytes += a.Bytes; rows += a.Rows; statements++ }
	st, err := store.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	w.serve(st)
	w.told("CATALOG")
	w.told("IN_FORCE")
	who := query.Principal{Account: accountOther}
	request := query.ResultsRequest{Limit: ptr(query.MaxResultsLimit), CapturedFrom: w.now.Add(-20 * 24 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Format(time.RFC3339), Include: query.Include{ExportFields: true}}
	request.OrderID = orderC
	type cost struct {
		took                    time.Duration
		bytes, rows, statements uint64
	}
	measured := func(ask func()) cost {
		mu.Lock()
		bytes, rows, statements = 0, 0, 0
		mu.Unlock()
		began := time.Now()
		ask()
		took := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		return cost{took, bytes, rows, statements}
	}
	var pages, explained []cost
	for turn := range turns {
		w.setMark(1<<40 + uint64(turn))
		explained = append(explained, measured(func() {
			var e query.Explanation
			if _, err := w.service.Results(query.Explain(t.Context(), &e), who, request); !errors.Is(err, query.ErrExplained) || e.Rows == nil || *e.Rows != query.MaxResultsLimit {
				t.Fatalf("%v, %d %d %d", err, *e.Rows, *e.Pairs, *e.Scanned)
			}
		}))
		pages = append(pages, measured(func() {
			page, err := w.service.Results(t.Context(), who, request)
			if err != nil || page.Rows.Len() != query.MaxResultsLimit {
				t.Fatalf("%v, %d rows", err, page.Rows.Len())
			}
			page.Rows.Release()
		}))
	}
	median := func(all []cost) cost {
		return slices.SortedFunc(slices.Values(all), func(a, b cost) int { return cmp.Compare(a.took, b.took) })[len(all)/2]
	}
	page, explanation := median(pages), median(explained)
	t.Logf("a page took %s and read %d rows in %d bytes, its explanation %s, %d and %d, by %d statements",
		page.took, page.rows, page.bytes, explanation.took, explanation.rows, explanation.bytes, explanation.statements)
	if explanation.rows == 0 || explanation.rows*10 > page.rows || explanation.bytes*10 > page.bytes {
		t.Errorf("more than a tenth")
	}
	if explanation.statements > 2 {
		t.Errorf("it takes %d statements", explanation.statements)
	}
}
