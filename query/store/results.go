package store

import (
	"context"
	"math"
	"slices"

	"preismon/contracts"
	"preismon/query"
)

// resultsShape is what results.sql depends on.
type resultsShape struct {
	scope
	Export, Standing                           bool // columns
	Ascending, After, Limit, From, To          bool
	Unsorted                                   bool
	FromLatest, Newest, NewestRow, NewestWhole bool
	Current                                    bool // reads only latest_observations
	ByPair                                     bool // reads observations, by its key
	Mandates                                   bool // rows of several mandates, each seeing all of its own

	Filter   map[string]any // by parameter, only those that are set
	Equal    []equality
	Outcomes bool
}

// equality is the condition of a filter that a column must equal.
type equality struct{ Column, Value string }

// readOptions is how a read is done; its rows are the same with any of them.
type readOptions struct {
	unsorted bool // the reader sorts
	byPair   bool // it covers few pairs
	current  bool // of newest captures: as if none came later, which the reader checks
}

// resultsStatement builds the one statement of a results read.
func resultsStatement(n shards, v query.Visibility, q *query.ResultsQuery, o readOptions) statement {
	p, sh := shapeOf(n, v, q, o)
	st := render("results.sql", sh, p)
	if q.Selectors.Item != 0 || sh.Limit && q.Latest == query.AllRows && !sh.Pairs && !sh.Site && !q.Filtered() {
		st.settings = alongKey
	}
	switch {
	case o.unsorted:
		st.settings = slices.Concat(briefly, inLargeBlocks) // alongside other slices
	case sh.Limit && q.Latest == query.AllRows:
		st.settings = slices.Concat(st.settings, inSmallBlocks)
	case sh.FromLatest:
		st.settings = briefly // FINAL takes longer on several processors, unless there are very many pairs
	}
	return st
}

// shapeOf binds the values of a read and returns what its statement depends on.
func shapeOf(n shards, v query.Visibility, q *query.ResultsQuery, o readOptions) (params, resultsShape) {
	p, sc := visible(v, q.Selectors)
	sh := resultsShape{
		Unsorted: o.unsorted,
		scope:    sc,
		Export:   q.Export, Standing: q.Standing, Ascending: q.Ascending, After: q.After != nil, Limit: q.Limit > 0,
		From: !q.Window.From.IsZero(), To: !q.Window.To.IsZero(),
		NewestRow: q.Latest == query.NewestRow, NewestWhole: q.Latest == query.NewestWhole,
		Filter: q.Filters.Given(), Outcomes: q.Outcomes != nil,
	}
	sh.Shards = n
	// observations_by_mandate is the only table that can hold exactly what a
	// whole mandate sees.
	sh.Pairs = sh.Pairs || sh.Products
	sh.ByPair = sh.Products || o.byPair
	sh.FromLatest, sh.Current = fromLatest(q), o.current
	sh.Newest = sh.NewestWhole

	p.uint("mark_epoch", uint64(q.Watermark.Epoch))
	p.uint("mark_seq", q.Watermark.Seq)
	if sh.From {
		p.int("from_ms", q.Window.From.UnixMilli())
	}
	if sh.Floor && (!sh.From || q.Window.From.UnixMilli() < v.Floor) {
		sh.From = true
		p.int("from_ms", v.Floor)
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
		p.uint("after_offer", uint64(afterOffer(q)))
	}
	sh.Equal = bindFilters(p, sh.Filter)
	if sh.Outcomes {
		uints(p, "outcomes", q.Outcomes)
	}
	return p, sh
}

// bindFilters binds the values of filters, and returns the conditions of those
// that compare a column.
func bindFilters(p params, given map[string]any) (equal []equality) {
	for _, f := range query.ResultsParameters {
		kind := "String"
		switch v := given[f.Name].(type) {
		case string:
			p.text(f.Name, v)
		case bool:
			p.uint(f.Name, uint64(contracts.FlagOf(v)))
			kind = "UInt8"
		default:
			continue
		}
		if f.Column != "" {
			equal = append(equal, equality{f.Column, "{" + f.Name + ":" + kind + "}"})
		}
	}
	return equal
}

// afterOffer returns the offer after which paging continues. If one offer
// stands for its pair, paging continues after the whole capture, whichever
// offer stood for it when that page was read.
func afterOffer(q *query.ResultsQuery) uint16 {
	switch {
	case q.Latest != query.NewestRow:
		return q.After.Offer
	case q.Ascending:
		return 0
	}
	return math.MaxUint16
}

// fromLatest reports whether latest_observations answers the query. A newest
// row under a filter is the newest that matches; a newest set is chosen before
// filters apply (RES-P12b). Of a window that ended long ago it would hold the
// newest capture of hardly any pair.
func fromLatest(q *query.ResultsQuery) bool {
	return (q.Window.From.IsZero() && q.Window.To.IsZero() || q.Current) &&
		(q.Latest == query.NewestWhole || q.Latest == query.NewestRow && !q.Filtered())
}

// Results implements query.Store.
func (s *Store) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	few, err := s.ofFewPairs(ctx, v, q)
	if err != nil {
		return err
	}
	if q.Read != nil {
		return s.stream(ctx, s.pieces(v, q, few, q.Read), each)
	}
	if tryCurrent(q) {
		if current, err := s.current(ctx, v, q, each); current || err != nil {
			return err
		}
	}
	return s.eachRow(ctx, resultsStatement(s.shards, v, q, readOptions{byPair: few}), q, each)
}

// eachRow passes on what a statement returns.
func (s *Store) eachRow(ctx context.Context, st statement, q *query.ResultsQuery, each func(*query.Block) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := s.read(ctx, st, columnsOf(q), blocksAhead)
	err := r.each(each)
	cancel()
	r.drain()
	return err
}
