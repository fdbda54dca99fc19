package query

import (
	"context"
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
)

// enrichment holds what rows are enriched with, for the items of a request, as
// JSON fragments ready to be copied. It lives as long as its request: a change
// of master data appears in the next one.
type enrichment struct {
	include Include
	store   *remembering
	vis     Visibility

	items   map[contracts.ItemID]*itemParts
	rows    []*itemParts     // of the block's rows
	prices  []*referenceText // of the rows, with export fields
	orders  map[contracts.Pair]*orderTexts
	lastMs  map[contracts.Pair]int64
	missing []contracts.ItemID
	near    []nearItem

	fragments int // how many each item has

	// See enrich_memory.go.
	holds           *admission.Read // nil: it is not charged
	room            *admission.Room
	drop            func()
	loaded, charged int64
}

// maxNearItems bounds the table of items met lately, which exists because a map
// lookup costs as much as a good part of a row's JSON. It grows with the items.
const maxNearItems = 1 << 16

type nearItem struct {
	item  uint64
	parts *itemParts
}

// itemParts are what an item's rows are enriched with.
type itemParts struct {
	record     contracts.Item
	customer   []string // names and texts alternating, by name
	fields     []byte   // customer as JSON
	references []referenceText
	runs       [][]byte // fragments of adjacent fields
}

func newEnrichment(include Include, store *remembering, vis Visibility) *enrichment {
	e := &enrichment{include: include, store: store, vis: vis}
	e.forget()
	return e
}

func (e *enrichment) forget() {
	e.items = map[contracts.ItemID]*itemParts{}
	e.rows, e.prices, e.missing, e.near = nil, nil, nil, nil
	e.orders = map[contracts.Pair]*orderTexts{}
	e.lastMs = map[contracts.Pair]int64{}
	e.loaded, e.charged = 0, 0
}

// load reads what the rows of the block need and is not loaded yet. What was
// lent is taken back.
func (e *enrichment) load(ctx context.Context, b *Block) error {
	if e.include == (Include{}) {
		return nil
	}
	e.takeBack()
	if e.tooMuch() {
		e.forget()
	}
	e.missing, e.rows = e.missing[:0], e.rows[:0]
	if len(e.near) < maxNearItems && len(e.near) < 2*len(e.items)+1024 {
		e.near = make([]nearItem, min(maxNearItems, 1<<bits.Len(uint(4*len(e.items)+1024))))
	}
	mask := uint64(len(e.near) - 1)
	for _, item := range b.Item[:b.Len] {
		near := &e.near[item&mask]
		if near.item != item || near.parts == nil {
			parts, ok := e.items[contracts.ItemID(item)]
			if !ok {
				parts = new(itemParts)
				e.items[contracts.ItemID(item)] = parts
				e.missing = append(e.missing, contracts.ItemID(item))
			}
			*near = nearItem{item, parts}
		}
		e.rows = append(e.rows, near.parts)
	}
	if len(e.missing) > 0 {
		slices.Sort(e.missing)
		if err := e.read(ctx, e.missing); err != nil {
			e.forget() // they are in the maps but lack what was to be read
			return err
		}
	}
	if e.include.ExportFields {
		e.priceRows(b)
	}
	e.charge()
	return nil
}

// priceRows finds the reference price of each row of the block. The items are
// scattered over memory: a loop that does nothing else can wait for several at
// once.
func (e *enrichment) priceRows(b *Block) {
	e.prices = e.prices[:0]
	for i, parts := range e.rows {
		found := noReferences
		if len(parts.references) > 0 {
			found = referenceOf(parts.references, b.Site.At(i), b.Currency.At(i))
		}
		e.prices = append(e.prices, found)
	}
}

func (e *enrichment) read(ctx context.Context, items []contracts.ItemID) error {
	var (
		records    []contracts.Item
		references []contracts.ReferencePrices
		customer   []contracts.CustomerData
		orders     map[contracts.Pair][]contracts.OrderID
		last       map[contracts.Pair]time.Time
	)
	if err := inParallel(ctx,
		readInto(&records, e, identityGroup, items, e.store.itemsOf),
		readInto(&references, e, exportGroup, items, e.store.ReferencePrices),
		readInto(&customer, e, customerGroup, items, e.store.CustomerData),
		readInto(&orders, e, ordersGroup, items, e.store.PairOrders),
		readInto(&last, e, coverageGroup, items, e.store.LastProcessed),
	); err != nil {
		return err
	}
	e.loaded += itemBytes * int64(len(items))
	for pair, ids := range orders {
		texts := orderTextsOf(ids)
		e.orders[pair] = texts
		e.loaded += pairBytes + textBytes(string(pair.Site)) + texts.bytes()
	}
	for pair, at := range last {
		e.lastMs[pair] = at.UnixMilli()
		e.loaded += pairBytes + textBytes(string(pair.Site))
	}
	for _, r := range records {
		e.change(r.ItemID, func(p *itemParts) {
			p.record = r
			e.loaded += textBytes(r.EAN, r.PZN, r.ASIN, r.ASINLocale, r.Name, r.Brand, r.Manufacturer)
		})
	}
	for _, r := range references {
		e.change(r.ItemID, func(p *itemParts) {
			p.references = referenceTexts(r.Prices)
			e.loaded += referenceBytes(r.Prices, p.references)
		})
	}
	for _, c := range customer {
		if len(c.Fields) == 0 {
			continue
		}
		fields, err := json.Marshal(c.Fields)
		if err != nil {
			return err
		}
		e.change(c.ItemID, func(p *itemParts) {
			p.fields = fields
			for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
				p.customer = append(p.customer, name, c.Fields[name])
			}
			e.loaded += int64(cap(p.fields)) + 16*int64(cap(p.customer)) + textBytes(p.customer...)
		})
	}
	return nil
}

// readInto returns the function that reads what a group of fields needs of items,
// if the group is requested.
func readInto[T any](to *T, e *enrichment, g group, items []contracts.ItemID, read func(context.Context, Visibility, []contracts.ItemID) (T, error)) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if e.include.has(g) {
			*to, err = read(ctx, e.vis, items)
		}
		return err
	}
}

func (e *enrichment) change(id contracts.ItemID, f func(*itemParts)) {
	if p := e.items[id]; p != nil {
		f(p)
	}
}

func (e *enrichment) lastProcessed(p contracts.Pair) (ms int64, ok bool) {
	ms, ok = e.lastMs[p]
	return ms, ok
}
