package query

import (
	"context"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"

	"preismon/contracts"

	"golang.org/x/sync/errgroup"
)

// enrichment holds what rows are enriched with, for the items of a request,
// as JSON fragments ready to be copied. It lives as long as its request: a
// change of master data shows with the next one.
type enrichment struct {
	include Include
	store   Store
	vis     Visibility

	items   map[contracts.ItemID]*itemParts
	rows    []*itemParts // of the block's rows
	orders  map[contracts.Pair][]byte
	lastMs  map[contracts.Pair]int64
	missing []contracts.ItemID
	near    []nearItem
}

// near is a table of items met lately, for a map costs as much as a good part
// of a row's JSON. It grows with the items, up to this size.
const maxNearItems = 1 << 16

type nearItem struct {
	item  uint64
	parts *itemParts
}

type itemParts struct {
	identity, customer []byte
	references         []referenceText
}

// maxEnrichedItems bounds what a long stream keeps; beyond it, everything is
// forgotten and read again as needed.
const maxEnrichedItems = 50_000

func newEnrichment(include Include, store Store, vis Visibility) *enrichment {
	e := &enrichment{include: include, store: store, vis: vis}
	e.forget()
	return e
}

func (e *enrichment) forget() {
	e.items = map[contracts.ItemID]*itemParts{}
	e.near = nil
	e.orders = map[contracts.Pair][]byte{}
	e.lastMs = map[contracts.Pair]int64{}
}

// load reads what the rows of the block need and is not there yet.
func (e *enrichment) load(ctx context.Context, b *Block) error {
	if e.include == (Include{}) {
		return nil
	}
	if len(e.items) > maxEnrichedItems {
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
	if len(e.missing) == 0 {
		return nil
	}
	slices.Sort(e.missing)
	if err := e.read(ctx, e.missing); err != nil {
		e.forget() // they are in the maps and lack what was to be read
		return err
	}
	return nil
}

func (e *enrichment) read(ctx context.Context, items []contracts.ItemID) error {
	var (
		records    []contracts.Item
		references []contracts.ReferencePrices
		customer   []contracts.CustomerData
		g, gctx    = errgroup.WithContext(ctx)
	)
	if e.include.Identity {
		g.Go(func() (err error) { records, err = e.store.ItemRecords(gctx, items); return err })
	}
	if e.include.ExportFields {
		g.Go(func() (err error) { references, err = e.store.ReferencePrices(gctx, e.vis, items); return err })
	}
	if e.include.CustomerData {
		g.Go(func() (err error) { customer, err = e.store.CustomerData(gctx, e.vis, items); return err })
	}
	if e.include.OrderIDs {
		g.Go(func() error {
			orders, err := e.store.PairOrders(gctx, e.vis, items)
			for pair, ids := range orders {
				e.orders[pair] = orderIDsJSON(ids)
			}
			return err
		})
	}
	if e.include.Coverage {
		g.Go(func() error {
			last, err := e.store.LastProcessed(gctx, e.vis, items)
			for pair, at := range last {
				e.lastMs[pair] = at.UnixMilli()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, r := range records {
		e.change(r.ItemID, func(p *itemParts) { p.identity = identityJSON(r, e.include) })
	}
	for _, r := range references {
		e.change(r.ItemID, func(p *itemParts) { p.references = referenceTexts(r.Prices) })
	}
	for _, c := range customer {
		if len(c.Fields) == 0 {
			continue
		}
		fields, err := json.Marshal(c.Fields)
		if err != nil {
			return err
		}
		e.change(c.ItemID, func(p *itemParts) { p.customer = append([]byte(`,"customerData":`), fields...) })
	}
	return nil
}

func (e *enrichment) change(id contracts.ItemID, f func(*itemParts)) {
	if p := e.items[id]; p != nil {
		f(p)
	}
}

func (e *enrichment) identity(row int) []byte {
	if p := e.rows[row].identity; p != nil {
		return p
	}
	return identityJSON(contracts.Item{}, e.include)
}

func (e *enrichment) customerData(row int) []byte {
	if p := e.rows[row].customer; p != nil {
		return p
	}
	return []byte(`,"customerData":{}`)
}

func (e *enrichment) orderIDs(p contracts.Pair) []byte {
	if ids := e.orders[p]; ids != nil {
		return ids
	}
	return []byte(`,"orderIds":[]`)
}

func (e *enrichment) lastProcessed(p contracts.Pair) (ms int64, ok bool) {
	ms, ok = e.lastMs[p]
	return ms, ok
}

// identityJSON writes the identity group: all of its fields, null where the
// item has none (choices 3). The export fields have a manufacturer of their
// own, the observed one, which takes the name where both groups are on.
func identityJSON(i contracts.Item, include Include) []byte {
	var b []byte
	for _, f := range []struct{ key, value string }{
		{`,"ean":`, i.EAN},
		{`,"pzn":`, i.PZN},
		{`,"asin":`, i.ASIN},
		{`,"asinLocale":`, i.ASINLocale},
		{`,"productName":`, i.Name},
		{`,"brand":`, i.Brand},
	} {
		b = append(b, f.key...)
		b = appendTextOrNull(b, []byte(f.value))
	}
	if !include.ExportFields {
		b = append(b, `,"manufacturer":`...)
		b = appendTextOrNull(b, []byte(i.Manufacturer))
	}
	return b
}

func orderIDsJSON(ids []contracts.OrderID) []byte {
	b := []byte(`,"orderIds":[`)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendUint(b, uint64(id), 10)
		b = append(b, '"')
	}
	return append(b, ']')
}

// referenceText are the reference prices of an item's rows in one currency:
// at one site, or (without a site) wherever no other text says more.
type referenceText struct {
	currency contracts.Currency
	site     contracts.SiteKey
	json     []byte
}

var noReferencePrices = []byte(`,"customerReferencePrices":[]`)

// referencePrices are the customer's own prices that apply to a row.
func (e *enrichment) referencePrices(row int, site, currency []byte) []byte {
	found := noReferencePrices
	texts := e.rows[row].references
	for i := range texts {
		t := &texts[i]
		if string(t.currency) != string(currency) {
			continue
		}
		if t.site == "" {
			found = t.json
		} else if string(t.site) == string(site) {
			return t.json
		}
	}
	return found
}

// referenceTexts writes what rows of an item can show of its reference prices.
func referenceTexts(all []contracts.ReferencePrice) (texts []referenceText) {
	for _, p := range all {
		same := func(t referenceText) bool { return t.currency == p.CurrencyCode && t.site == p.AppliesToSite }
		if !slices.ContainsFunc(texts, same) {
			texts = append(texts, referenceText{
				currency: p.CurrencyCode, site: p.AppliesToSite, json: referencePricesJSON(all, p.AppliesToSite, p.CurrencyCode),
			})
		}
	}
	return texts
}

// referencesAt are the customer's own prices that apply to rows of a site and
// a currency: those for that very site, then those for no site; each publicly
// distinct entry once (FLD-05c to FLD-05f).
func referencesAt(all []contracts.ReferencePrice, site contracts.SiteKey, currency contracts.Currency) (found []*contracts.ReferencePrice) {
	for _, exact := range []bool{true, false} {
		for i := range all {
			p := &all[i]
			if p.CurrencyCode != currency || (p.AppliesToSite != "") != exact || exact && p.AppliesToSite != site || slices.Contains(all[:i], *p) {
				continue
			}
			found = append(found, p)
		}
	}
	return found
}

// referencePricesJSON writes the reference prices of rows of a site and a
// currency. referencePrice stands beside them only when a single entry
// applies (FLD-06b).
func referencePricesJSON(all []contracts.ReferencePrice, site contracts.SiteKey, currency contracts.Currency) []byte {
	out := []byte(`,"customerReferencePrices":[`)
	found := referencesAt(all, site, currency)
	for i, p := range found {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendReferencePrice(out, p)
	}
	out = append(out, ']')
	if len(found) == 1 {
		only := found[0]
		out = append(out, `,"referencePrice":`...)
		out = contracts.AppendMinor(out, only.AmountMinor, only.CurrencyCode.Digits())
		out = append(out, `,"referencePriceMoney":{`...)
		out = appendMoneyFields(out, only)
		out = append(out, '}')
	}
	return slices.Clip(out)
}

func appendReferencePrice(out []byte, p *contracts.ReferencePrice) []byte {
	out = append(out, '{')
	out = appendMoneyFields(out, p)
	for _, f := range []struct{ key, value string }{
		{`,"appliesToSite":`, string(p.AppliesToSite)},
		{`,"referenceQuantity":`, p.ReferenceQuantity},
		{`,"priceType":`, p.PriceType},
	} {
		if f.value != "" {
			out = append(out, f.key...)
			out = appendJSONString(out, []byte(f.value))
		}
	}
	return append(out, '}')
}

func appendMoneyFields(out []byte, p *contracts.ReferencePrice) []byte {
	out = append(out, `"value":`...)
	out = contracts.AppendMinor(out, p.AmountMinor, p.CurrencyCode.Digits())
	out = append(out, `,"amountMinor":`...)
	out = strconv.AppendInt(out, p.AmountMinor, 10)
	out = append(out, `,"currencyCode":"`...)
	out = append(out, p.CurrencyCode...)
	return append(out, '"')
}
