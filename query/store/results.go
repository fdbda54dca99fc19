package store

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// resultsShape is what results.sql depends on.
type resultsShape struct {
	scope
	Export, Ascending, After, Limit, From, To  bool
	Unsorted                                   bool // the reader sorts
	FromLatest, Newest, NewestRow, NewestWhole bool

	Brand, Manufacturer, Merchant, Prime, BuyBox, Outcomes bool
}

// resultsStatement builds the one statement of a results read.
func resultsStatement(v query.Visibility, q *query.ResultsQuery) statement {
	return shapedStatement(v, q, false)
}

func shapedStatement(v query.Visibility, q *query.ResultsQuery, unsorted bool) statement {
	p := params{}
	sh := resultsShape{
		Unsorted: unsorted,
		scope:    visible(p, v, q.Selectors),
		Export:   q.Export, Ascending: q.Ascending, After: q.After != nil, Limit: q.Limit > 0,
		From: !q.Window.From.IsZero(), To: !q.Window.To.IsZero(),
		NewestRow: q.Latest == query.NewestRow, NewestWhole: q.Latest == query.NewestWhole,
		Brand: q.Brand != "", Manufacturer: q.Manufacturer != "", Merchant: q.Merchant != "",
		Prime: q.IsPrime != nil, BuyBox: q.IsBuyBox != nil, Outcomes: q.Outcomes != nil,
	}
	// observations_by_mandate is the one table that can hold exactly what a
	// whole mandate sees.
	sh.Pairs = sh.Pairs || sh.Products
	// A newest row under a filter is the newest that matches; a newest set is
	// chosen before filters apply (RES-P12b).
	sh.FromLatest = !sh.From && !sh.To && (sh.NewestWhole || sh.NewestRow && !q.Filtered())
	sh.Newest = sh.NewestWhole

	p.uint("mark_epoch", uint64(q.Watermark.Epoch))
	p.uint("mark_seq", q.Watermark.Seq)
	if sh.From {
		p.int("from_ms", q.Window.From.UnixMilli())
	}
	if sh.To {
		p.int("to_ms", q.Window.To.UnixMilli())
	}
	if sh.Limit {
		p.uint("limit", uint64(q.Limit))
	}
	if a := q.After; a != nil {
		p.int("after_desc", -a.CapturedMs)
		p.uint("after_item", uint64(a.Item))
		p.text("after_site", string(a.Site))
		p.uint("after_epoch", uint64(a.Epoch))
		p.uint("after_seq", a.Seq)
		p.uint("after_capture", uint64(a.Capture))
		p.uint("after_offer", uint64(a.Offer))
	}
	if sh.Brand {
		p.text("brand", q.Brand)
	}
	if sh.Manufacturer {
		p.text("manufacturer", q.Manufacturer)
	}
	if sh.Merchant {
		p.text("merchant", q.Merchant)
	}
	if sh.Prime {
		p.uint("is_prime", uint64(contracts.FlagOf(*q.IsPrime)))
	}
	if sh.BuyBox {
		p.uint("is_buy_box", uint64(contracts.FlagOf(*q.IsBuyBox)))
	}
	if sh.Outcomes {
		uints(p, "outcomes", q.Outcomes)
	}
	st := render("results.sql", sh, p)
	if unsorted || sh.Limit && q.Latest == query.AllRows && !sh.Pairs && !sh.Site && !q.Filtered() {
		st.settings = briefly // along the key, or a slice beside others
	}
	return st
}

// Results implements query.Store.
func (s *Store) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	if sliceable(q) {
		cuts, err := s.slices(ctx, v, q)
		if err != nil {
			return err
		}
		if len(cuts) > 0 {
			return s.readSlices(ctx, v, q, cuts, each)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := s.read(ctx, resultsStatement(v, q), q.Export, blocksAhead)
	err := r.each(each)
	cancel()
	r.drain()
	return err
}
