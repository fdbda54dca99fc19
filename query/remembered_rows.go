package query

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"preismon/contracts"
)

// Numbers of rows up to which the answer of a read is remembered: of a page, of
// the newest of a product, of the newest of all pairs, and of what is counted.
const (
	maxRememberedRows = 1_001
	maxNewestRows     = 20_000
	maxCountedRows    = 50_000
)

// cutWindow takes the window out of a question, in Unix ms: JSON has no times of
// other millennia.
func cutWindow(w *contracts.Window) [2]int64 {
	from, to := toMs(w.From), toMs(w.To)
	*w = contracts.Window{}
	return [2]int64{from, to}
}

// Results implements Store. Rows up to a watermark never change, as long as the
// caller sees the same. While a scope changes, past rows of its pairs come and
// go, and nothing is remembered.
func (r *remembering) Results(ctx context.Context, v Visibility, q *ResultsQuery, each func(*Block) error) error {
	if e := explaining(ctx); e != nil {
		return e.rows(ctx, r.Store, v, q)
	}
	if v.Snapshot == 0 || !v.Applied || q.Read != nil || unrepeatable(q) {
		return r.Store.Results(ctx, v, q, each)
	}
	if q.Limit == 0 && q.Latest != AllRows {
		return r.newest(ctx, v, q, each)
	}
	if q.Limit <= 0 || q.Limit > maxRememberedRows {
		return r.Store.Results(ctx, v, q, each)
	}
	covering := *q
	covering.Window = q.Cover()
	asked := covering
	asked.Watermark = r.sameSince(v, &covering)
	window := cutWindow(&asked.Window)
	rows, err := recall(ctx, r, "rows", v, []any{asked, window}, func(ctx context.Context) (*Block, error) { return r.readRows(ctx, v, &covering) })
	if err != nil {
		return err
	}
	return r.pass(ctx, v, q, rows, each)
}

// pass passes those of the remembered rows to each that are in the window of a
// query, or reads it where some may be missing.
func (r *remembering) pass(ctx context.Context, v Visibility, q *ResultsQuery, rows *Block, each func(*Block) error) error {
	within, ok := within(rows, q)
	switch {
	case !ok:
		return r.Store.Results(ctx, v, q, each)
	case within.Len == 0:
		return nil
	}
	return each(within)
}

// newest is Results for all newest rows. It notes for which questions they are
// more than can be remembered, and does not try again.
func (r *remembering) newest(ctx context.Context, v Visibility, q *ResultsQuery, each func(*Block) error) error {
	asked, window := *q, q.Cover()
	asked.Window, asked.Watermark = contracts.Window{}, Watermark{}
	lasting := keyOf("outgrown rows", v, []any{asked, cutWindow(&window)})
	if r.outgrown(lasting) {
		return r.Store.Results(ctx, v, q, each)
	}
	rows, err := r.atMost(ctx, v, q, "newest rows", maxNewestRows)
	switch {
	case err != nil:
		return err
	case rows == nil:
		r.requested.Put(lasting, outgrown)
		return r.Store.Results(ctx, v, q, each)
	}
	return r.pass(ctx, v, q, rows, each)
}

// counted is Results for a caller that counts all rows of a read: it remembers
// more of them than a page has. False: they are more than can be remembered,
// and none was passed to each.
func (r *remembering) counted(ctx context.Context, v Visibility, q *ResultsQuery, each func(*Block) error) (bool, error) {
	if explaining(ctx) != nil || v.Snapshot == 0 || !v.Applied || unrepeatable(q) {
		return true, r.Results(ctx, v, q, each)
	}
	rows, err := r.atMost(ctx, v, q, "counted rows", maxCountedRows)
	if err != nil || rows == nil {
		return false, err
	}
	unlimited := *q // of the window: all of the cover are there
	unlimited.Limit = 0
	return true, r.pass(ctx, v, &unlimited, rows, each)
}

// atMost recalls all rows of the cover of a query; nil: there are more.
func (r *remembering) atMost(ctx context.Context, v Visibility, q *ResultsQuery, name string, most int) (*Block, error) {
	covering := *q
	covering.Window, covering.Limit = q.Cover(), most+1
	asked := covering
	asked.Watermark = r.sameSince(v, &covering)
	window := cutWindow(&asked.Window)
	return recall(ctx, r, name, v, []any{asked, window}, func(ctx context.Context) (*Block, error) {
		b, err := r.readRows(ctx, v, &covering)
		if err != nil || b.Len > most {
			return nil, err
		}
		return b, nil
	})
}

// Feed implements Store: readers that follow the same rows share its reads.
func (r *remembering) Feed(ctx context.Context, v Visibility, q *FeedQuery, each func(*Block) error) error {
	if v.Snapshot == 0 || !v.Applied || q.Limit > maxRememberedRows {
		return r.Store.Feed(ctx, v, q, each)
	}
	asked := *q
	window := cutWindow(&asked.Rows.Window)
	rows, err := recall(ctx, r, "feed", v, []any{asked, window}, func(ctx context.Context) (*Block, error) {
		c := newRowsCopy(&q.Rows)
		err := r.Store.Feed(ctx, v, q, func(b *Block) error { c.add(b); return nil })
		return c.block, err
	})
	if err != nil || rows.Len == 0 {
		return err
	}
	return each(rows)
}

// unrepeatable reports whether no other request can be the same: the window
// begins or ends now, and no wider window holds the answer. The newest row of a
// pair in a wider one hides one before it, unseen if a filter or a limit at the
// far end leaves it out.
func unrepeatable(q *ResultsQuery) bool {
	return (q.FromNow || q.ToNow) && q.Latest != AllRows && (q.Filtered() || q.Ascending) || q.FromNow && q.Ascending
}

// Cover is a window that contains the one of a read and is the same for all
// that end now within the hour, so that they share an answer.
func (q *ResultsQuery) Cover() contracts.Window {
	w := q.Window
	if q.FromNow {
		w.From = w.From.Truncate(time.Hour)
	}
	if q.ToNow {
		w.To = w.To.Truncate(time.Hour).Add(2 * time.Hour)
	}
	return w
}

// within returns those rows of the cover that are in the window, in order. Not
// ok: rows may be missing, at the end because others took up the limit, or of a
// pair whose newest is dated after the window.
func within(b *Block, q *ResultsQuery) (*Block, bool) {
	if !q.FromNow && !q.ToNow {
		return b, true
	}
	from, to := q.Window.From.UnixMilli(), q.Window.To.UnixMilli()
	// The first row in the window, and the first one after it.
	first := sort.Search(b.Len, func(i int) bool { return b.CapturedMs[i] <= to })
	end := sort.Search(b.Len, func(i int) bool { return b.CapturedMs[i] < from })
	if q.Ascending {
		first = sort.Search(b.Len, func(i int) bool { return b.CapturedMs[i] >= from })
		end = sort.Search(b.Len, func(i int) bool { return b.CapturedMs[i] > to })
	}
	if first > 0 && (q.Latest != AllRows || end == b.Len && b.Len == q.Limit) {
		return nil, false
	}
	return b.Part(first, max(first, end)), true
}

// readRows reads all rows of a query into a block of their own, in order.
func (r *remembering) readRows(ctx context.Context, v Visibility, q *ResultsQuery) (*Block, error) {
	c := newRowsCopy(q)
	err := r.Store.Results(ctx, v, q, func(b *Block) error { c.add(b); return nil })
	if err != nil {
		return nil, err
	}
	return c.block, nil
}

// rowsCopy copies rows out of blocks, which are reused.
type rowsCopy struct {
	block *Block
	of    *ResultsQuery
	dicts []dictCopy
}

// dictCopy copies one column of texts with few values.
type dictCopy struct {
	of   func(*Block) *Dict
	seen map[string]uint32
}

func newRowsCopy(q *ResultsQuery) *rowsCopy {
	c := &rowsCopy{block: &Block{}, of: q}
	columns := []func(*Block) *Dict{
		func(b *Block) *Dict { return &b.Site }, func(b *Block) *Dict { return &b.Currency }, func(b *Block) *Dict { return &b.Merchant },
	}
	if q.Export {
		columns = append(columns, func(b *Block) *Dict { return &b.Manufacturer }, func(b *Block) *Dict { return &b.DeliveryText })
	}
	for _, of := range columns {
		c.dicts = append(c.dicts, dictCopy{of, map[string]uint32{}})
	}
	return c
}

func (c *rowsCopy) add(b *Block) {
	to := c.block
	for k := range b.Len {
		i := b.At(k)
		to.Item, to.CapturedMs = append(to.Item, b.Item[i]), append(to.CapturedMs, b.CapturedMs[i])
		to.Epoch, to.Seq = append(to.Epoch, b.Epoch[i]), append(to.Seq, b.Seq[i])
		to.Capture, to.Offer = append(to.Capture, b.Capture[i]), append(to.Offer, b.Offer[i])
		to.Outcome, to.PriceMinor = append(to.Outcome, b.Outcome[i]), append(to.PriceMinor, b.PriceMinor[i])
		if c.of.Export || c.of.Standing {
			to.ShippingMinor, to.IsBuyBox = append(to.ShippingMinor, b.ShippingMinor[i]), append(to.IsBuyBox, b.IsBuyBox[i])
		}
		if c.of.Export {
			to.IsPrime, to.RatingTenths = append(to.IsPrime, b.IsPrime[i]), append(to.RatingTenths, b.RatingTenths[i])
			to.Title.Append(string(b.Title.At(i)))
			to.URL.Append(string(b.URL.At(i)))
		}
		for _, d := range c.dicts {
			d.add(d.of(to), d.of(b).At(i))
		}
	}
	to.Len += b.Len
}

func (d *dictCopy) add(to *Dict, value []byte) {
	n, ok := d.seen[string(value)]
	if !ok {
		n = uint32(to.Values.Len())
		to.Values.Append(string(value))
		d.seen[string(value)] = n
	}
	to.Index = append(to.Index, n)
}

// Tally implements Store. It does not remember a window that depends on the
// current time, since no other request will have the same.
func (r *remembering) Tally(ctx context.Context, v Visibility, q *ResultsQuery) ([]SiteTally, error) {
	return recallCounts(ctx, r, "tally", v, q, nil, func(ctx context.Context) ([]SiteTally, error) { return r.tally(ctx, v, q) })
}

// tally sorts its result, so that two can be compared.
func (r *remembering) tally(ctx context.Context, v Visibility, q *ResultsQuery) ([]SiteTally, error) {
	sites, err := r.Store.Tally(ctx, v, q)
	slices.SortFunc(sites, func(a, b SiteTally) int { return cmp.Compare(a.Site, b.Site) })
	for _, site := range sites {
		slices.SortFunc(site.Prices, func(a, b PriceTally) int { return cmp.Compare(a.Currency, b.Currency) })
		slices.SortFunc(site.Wins, func(a, b Wins) int { return cmp.Compare(a.Merchant, b.Merchant) })
	}
	return sites, err
}

// ObservedBySite implements Store, like Tally.
func (r *remembering) ObservedBySite(ctx context.Context, v Visibility, q *ResultsQuery) (map[contracts.SiteKey]uint64, error) {
	return recallCounts(ctx, r, "observed by site", v, q, nil, func(ctx context.Context) (map[contracts.SiteKey]uint64, error) {
		return r.Store.ObservedBySite(ctx, v, q)
	})
}

// recallCounts returns what is counted over the rows of a query, and for what
// else is asked of them. Rows up to a watermark never change, as for Results.
func recallCounts[T any](ctx context.Context, r *remembering, name string, v Visibility, q *ResultsQuery, of any, read func(context.Context) (T, error)) (T, error) {
	if v.Snapshot == 0 || !v.Applied || q.FromNow || q.ToNow || explaining(ctx) != nil {
		return read(ctx)
	}
	asked := *q
	asked.Watermark, asked.Read = r.sameSince(v, q), nil
	window := cutWindow(&asked.Window)
	return recall(ctx, r, name, v, []any{asked, window, of}, read)
}
