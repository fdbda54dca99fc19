package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/store"
)

// read performs one read and returns its rows as text.
type read func(ctx context.Context, s *store.Store) ([]string, error)

// someOf returns the names of one read of each method in n, and at least one: the
// others differ in the account or in one parameter.
func someOf(reads map[string]read, n int) (names []string) {
	of := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		method, _, _ := strings.Cut(name, ":")
		if of[method]%n == 0 {
			names = append(names, name)
		}
		of[method]++
	}
	return names
}

// readsOf returns all reads: those of the catalogue, and results in each shape
// that results.sql can take, under the given versions of scopes.
func readsOf(w *world, versions ...uint64) map[string]read {
	whole := query.Visibility{Mandate: mandateOne, Versions: versions, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	behind := whole
	behind.Applied = false
	behind.Scope = contracts.AccountScope{AllOrders: true, Sites: []contracts.SiteKey{"alpha.example", "gamma.example"}}
	oneOrder := whole
	oneOrder.Scope = contracts.AccountScope{Orders: []contracts.OrderID{orderB}, AllSites: true}
	all := map[string]read{}
	every := []contracts.ItemID{1, 2, 3, 4, 5, 6}
	for _, v := range []struct {
		name string
		query.Visibility
	}{{"whole", whole}, {"behind, two sites", behind}, {"one order", oneOrder}} {
		all["Items: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.Items(ctx, v.Visibility, 1, 3))
		}
		maps.Copy(all, catalogueReads(v.name, v.Visibility))
		all["ItemsNamed: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.ItemsNamed(ctx, v.Visibility, query.ItemNames{EANs: []string{"96385074", "4006381333931"}, Items: []contracts.ItemID{1, 4, 9}}))
		}
		all["Sites: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.Sites(ctx, v.Visibility, query.SitesQuery{After: "alpha.example", Limit: 2}))
		}
		all["CountPairs: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			size, err := s.CountPairs(ctx, v.Visibility, query.Selectors{})
			return []string{fmt.Sprintf("%+v", size)}, err
		}
		for name, selectors := range map[string]query.Selectors{"all": {}, "order": {Order: orderB}, "product": {EAN: "96385074"}} {
			all["PairsBySite: "+name+", "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
				pairs, err := s.PairsBySite(ctx, v.Visibility, selectors)
				return []string{fmt.Sprint(pairs)}, err
			}
			all["ScopeItems: "+name+", "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
				return texts(s.ScopeItems(ctx, v.Visibility, selectors, 4))
			}
		}
		all["ReferencePrices: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.ReferencePrices(ctx, v.Visibility, every))
		}
		all["CatalogueVersions: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			versions, err := s.CatalogueVersions(ctx, v.Visibility, query.Include{ExportFields: true, CustomerData: true})
			return []string{fmt.Sprint(versions)}, err
		}
		all["CustomerData: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.CustomerData(ctx, v.Visibility, every))
		}
		all["PairOrders: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			m, err := s.PairOrders(ctx, v.Visibility, every)
			return []string{fmt.Sprint(m)}, err
		}
		all["LastProcessed: "+v.name] = func(ctx context.Context, s *store.Store) ([]string, error) {
			m, err := s.LastProcessed(ctx, v.Visibility, every)
			return []string{fmt.Sprint(m)}, err
		}
		for _, silent := range []time.Duration{time.Hour, 24 * time.Hour} {
			q := &query.SilencesQuery{Rows: resultsQueries(w)["page"], For: silent}
			q.Rows.After = &query.Position{CapturedMs: q.Rows.Window.From.UnixMilli(), Item: 3}
			all[fmt.Sprintf("Silences: of %s, %s", silent, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
				var out []string
				err := s.Silences(ctx, v.Visibility, q, func(b *query.Block) error {
					out = append(out, blockTexts(b, false)...)
					return nil
				})
				return out, err
			}
		}
		for _, by := range []query.Grouping{query.ByProduct, query.BySite, query.ByMerchant, query.ByBrand, query.ByNothing} {
			q := &query.StatisticsQuery{Rows: resultsQueries(w)["page"], By: by, Until: w.now.UnixMilli(), Limit: 1000}
			from := q.Rows.Window.From.UnixMilli()
			q.Edges = []int64{from, (from + q.Until) / 2, q.Until}
			all[fmt.Sprintf("Statistics: by %s, %s", by, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
				got, err := s.Statistics(ctx, v.Visibility, q)
				return []string{fmt.Sprintf("%+v", got)}, err
			}
		}
		for name, q := range resultsQueries(w) {
			for _, ascending := range []bool{false, true} {
				q.Ascending = ascending
				all[fmt.Sprintf("Results: %s, ascending %t, %s", name, ascending, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
					return resultTexts(ctx, s, v.Visibility, q)
				}
			}
			all[fmt.Sprintf("Tally: %s, %s", name, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
				return texts(s.Tally(ctx, v.Visibility, &q))
			}
			all[fmt.Sprintf("ObservedBySite: %s, %s", name, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
				sites, err := s.ObservedBySite(ctx, v.Visibility, &q)
				return []string{fmt.Sprint(sites)}, err
			}
			all[fmt.Sprintf("RowsAtMost: %s, %s", name, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
				return boundTexts(ctx, s, v.Visibility, q)
			}
			if q.Latest == query.AllRows && q.Brand == "" {
				all[fmt.Sprintf("Windows: %s, %s", name, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
					to := w.now.UnixMilli()
					return texts(s.Windows(ctx, v.Visibility, &query.WindowsQuery{Rows: q, Edges: []int64{to - 200*3_600_000, to - 60*3_600_000, to - 3_600_000, to}}))
				}
				all[fmt.Sprintf("Feed: %s, %s", name, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
					return feedTexts(ctx, s, v.Visibility, w, q)
				}
				all[fmt.Sprintf("Feed: together, %s, %s", name, v.name)] = func(ctx context.Context, s *store.Store) ([]string, error) {
					other := v.Visibility
					other.Mandate = mandateOne + mandateTwo - v.Mandate
					return texts(s.FeedTogether(ctx, v.Visibility, other, feedQuery(w, q), func(b *query.Block) []string { return blockTexts(b, q.Export) }))
				}
			}
		}
	}
	for _, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountOther} {
		all[fmt.Sprint("Access: ", a)] = func(ctx context.Context, s *store.Store) ([]string, error) {
			got, err := s.Access(ctx, a)
			return []string{fmt.Sprintf("%+v", got)}, err
		}
	}
	all["Watermark: of now"] = func(ctx context.Context, s *store.Store) ([]string, error) {
		mark, err := s.Watermark(ctx)
		return []string{fmt.Sprintf("%+v", mark)}, err
	}
	all["Edge: of now"] = func(ctx context.Context, s *store.Store) ([]string, error) {
		edge, err := s.Edge(ctx)
		return []string{fmt.Sprintf("%+v", edge)}, err
	}
	positions := make([]query.Watermark, w.mark)
	for i := range positions {
		positions[i] = query.Watermark{Epoch: epoch, Seq: uint64(i) + 1}
	}
	all["EventIDs: of positions"] = func(ctx context.Context, s *store.Store) ([]string, error) {
		ids, err := s.EventIDs(ctx, positions)
		if err == nil && len(ids) != len(positions) {
			err = fmt.Errorf("%d of %d positions have an id", len(ids), len(positions))
		}
		return []string{fmt.Sprint(ids)}, err
	}
	all["VisibleTimes: of positions"] = func(ctx context.Context, s *store.Store) ([]string, error) {
		times, err := s.VisibleTimes(ctx, positions)
		if err == nil && len(times) == 0 {
			err = errors.New("no position has a time")
		}
		return []string{fmt.Sprint(times)}, err
	}
	for _, login := range []string{"u11", "renamed4", "u12"} {
		all["ByLogin: "+login] = func(ctx context.Context, s *store.Store) ([]string, error) {
			got, err := s.ByLogin(ctx, login)
			return []string{fmt.Sprintf("%+v, found: %t", got, err == nil)}, nil // a login that is gone is an answer too
		}
	}
	all["ItemRecords: of all"] = func(ctx context.Context, s *store.Store) ([]string, error) { return texts(s.ItemRecords(ctx, every)) }
	all["SiteRecords: of all"] = func(ctx context.Context, s *store.Store) ([]string, error) { return texts(s.SiteRecords(ctx)) }
	return all
}

// resultsQueries are reads of observations from every table, with every part of
// results.sql.
func resultsQueries(w *world) map[string]query.ResultsQuery {
	window := contracts.Window{From: w.now.Add(-168 * time.Hour), To: w.now}
	mark := query.Watermark{Epoch: epoch, Seq: w.mark - 60}
	at := w.rows[len(w.rows)/2]
	after := &query.Position{
		CapturedMs: at.ms, Item: contracts.ItemID(at.item), Site: contracts.SiteKey(at.site), Epoch: at.epoch, Seq: at.seq, Capture: at.capture, Offer: at.offer,
	}
	yes := true
	all := map[string]query.ResultsQuery{
		"stream":                 {Window: window, Export: true},
		"stream from a position": {Window: window, After: after},
		"page":                   {Window: window, Limit: 101},
		"newest of items":        {Latest: query.NewestRow, Selectors: query.Selectors{Items: query.ItemsOf([]contracts.ItemID{2, 4, 5})}},
		"page with exports":      {Window: window, Limit: 101, Export: true},
		"page from a position":   {Window: window, Limit: 101, After: after},
		"long page":              {Window: window, Limit: 10_001},
		"order":                  {Window: window, Selectors: query.Selectors{Order: orderB}, Limit: 101},
		"site":                   {Window: window, Selectors: query.Selectors{Site: "gamma.example"}, Limit: 101},
		"filters": {
			Window: window, Filters: query.Filters{Brand: "Brand 1", Manufacturer: "Maker GmbH", Merchant: "Merchant 1's \\ shop", IsPrime: &yes, IsBuyBox: &yes},
			Outcomes: []contracts.Outcome{contracts.PriceObserved},
		},
		"merchant":                       {Window: window, Filters: query.Filters{Merchant: "Merchant 2's \\ shop"}, Limit: 101, After: after},
		"outcomes":                       {Window: window, Outcomes: []contracts.Outcome{contracts.Unavailable, contracts.OutcomeUnknown}, Limit: 101},
		"product":                        {Window: window, Selectors: query.Selectors{Item: 4}, Limit: 101, Export: true},
		"product, position":              {Window: window, Selectors: query.Selectors{EAN: "96385074"}, After: after},
		"newest row":                     {Latest: query.NewestRow, Limit: 101},
		"newest row under a filter":      {Latest: query.NewestRow, Filters: query.Filters{Merchant: "Merchant 1's \\ shop"}},
		"newest row in a window":         {Latest: query.NewestRow, Window: window, After: after},
		"newest set":                     {Latest: query.NewestWhole, Export: true},
		"newest set from a position":     {Latest: query.NewestWhole, Limit: 7, After: after},
		"newest set under a filter":      {Latest: query.NewestWhole, Filters: query.Filters{Merchant: "Merchant 1's \\ shop"}},
		"newest set in a window":         {Latest: query.NewestWhole, Window: window, Selectors: query.Selectors{Item: 4}},
		"newest set of all in a window":  {Latest: query.NewestWhole, Window: window, Limit: 11},
		"newest row, current":            {Latest: query.NewestRow, Window: window, Current: true, Limit: 11},
		"newest set, current":            {Latest: query.NewestWhole, Window: window, Current: true, Outcomes: []contracts.Outcome{contracts.PriceObserved}},
		"newest set, some hours ago":     {Latest: query.NewestWhole, Window: contracts.Window{From: window.From, To: w.now.Add(-20 * time.Hour)}, Current: true, Limit: 11},
		"newest row of a product, since": {Latest: query.NewestRow, Selectors: query.Selectors{Item: 3, Site: "gamma.example"}, Window: contracts.Window{From: window.From}},
	}
	for name, q := range all {
		q.Watermark = mark
		all[name] = q
	}
	return all
}

func texts[T any](all []T, err error) ([]string, error) {
	var out []string
	for _, v := range all {
		out = append(out, fmt.Sprintf("%+v", v))
	}
	return out, err
}

// resultTexts returns the rows of a read in its order, with every column.
func resultTexts(ctx context.Context, s *store.Store, v query.Visibility, q query.ResultsQuery) ([]string, error) {
	var out []string
	err := s.Results(ctx, v, &q, func(b *query.Block) error {
		out = append(out, blockTexts(b, q.Export)...)
		return nil
	})
	return out, err
}

// feedTexts returns rows of a query after the middle of all rows.
func feedTexts(ctx context.Context, s *store.Store, v query.Visibility, w *world, q query.ResultsQuery) ([]string, error) {
	var out []string
	err := s.Feed(ctx, v, feedQuery(w, q), func(b *query.Block) error {
		out = append(out, blockTexts(b, q.Export)...)
		return nil
	})
	return out, err
}

func feedQuery(w *world, q query.ResultsQuery) *query.FeedQuery {
	at := w.rows[len(w.rows)/2]
	return &query.FeedQuery{Rows: q, After: query.FeedPosition{Epoch: at.epoch, Seq: at.seq, Capture: at.capture, Offer: at.offer}, Limit: 200}
}

func blockTexts(b *query.Block, export bool) (out []string) {
	for n := range b.Len {
		i := n
		if b.Order != nil {
			i = int(b.Order[n])
		}
		row := fmt.Sprint(b.CapturedMs[i], " ", b.Item[i], " ", string(b.Site.At(i)), " ", b.Epoch[i], " ", b.Seq[i], " ", b.Capture[i], " ", b.Offer[i], " ",
			b.Outcome[i], " ", string(b.Currency.At(i)), " ", b.PriceMinor[i], " ", string(b.Merchant.At(i)))
		if export {
			row += fmt.Sprint(" ", b.ShippingMinor[i], " ", b.IsPrime[i], " ", b.IsBuyBox[i], " ", b.RatingTenths[i], " ", string(b.Manufacturer.At(i)), " ",
				string(b.DeliveryText.At(i)), " ", string(b.Title.At(i)), " ", string(b.URL.At(i)))
		}
		out = append(out, row)
	}
	return out
}

// boundTexts returns the number of rows of a read, and fails if the bound is
// lower. How close the bound is depends on the indexes that are used.
func boundTexts(ctx context.Context, s *store.Store, v query.Visibility, q query.ResultsQuery) ([]string, error) {
	atMost, err := s.RowsAtMost(ctx, v, &q)
	if err != nil {
		return nil, err
	}
	rows, err := resultTexts(ctx, s, v, q)
	if err == nil && (atMost.Rows == nil) != (s.Sharded() && !v.Applied) {
		err = fmt.Errorf("%d rows, bounds %+v", len(rows), atMost)
	}
	if err == nil && atMost.Rows != nil && *atMost.Rows < uint64(len(rows)) {
		err = fmt.Errorf("%d rows, bounded by %d", len(rows), *atMost.Rows)
	}
	return []string{fmt.Sprint(len(rows), " rows")}, err
}
