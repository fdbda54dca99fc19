package store_test

import (
	"cmp"
	"slices"

	"preismon/contracts"
	"preismon/query"
)

// sees reports whether an account sees a pair.
func (w *world) sees(a contracts.AccountID, p contracts.Pair) bool {
	mandate := mandateOne
	if a == accountOther {
		mandate = mandateTwo
	} else if of, ok := w.more[a]; ok {
		mandate = of
	}
	orders, ok := w.scopes[mandate][p]
	if !ok {
		return false
	}
	switch a {
	case accountOrder:
		return slices.Contains(orders, orderB)
	case accountSites:
		return p.Site == "alpha.example" || p.Site == "gamma.example"
	case accountNone:
		return false
	}
	return true
}

var itemEANs = map[string][]uint64{"4006381333931": {2, 6}, "5901234123457": {3}, "96385074": {5}, "00000096385074": {5}, "4006381333930": nil}

var itemBrands = []string{"", "B", "A", "B", "A", "B", "A"}

// oracle answers a request by looking at every row.
func (w *world) oracle(a contracts.AccountID, r query.ResultsRequest, from, to int64, rows []obsRow) []obsRow {
	var in []obsRow
	for _, row := range rows {
		p := row.pair()
		switch {
		case !w.sees(a, p), row.ms < from, row.ms > to,
			r.ItemID != 0 && row.item != uint64(r.ItemID),
			r.EAN != "" && !slices.Contains(itemEANs[r.EAN], row.item),
			r.Site != "" && row.site != string(r.Site),
			r.OrderID != 0 && !slices.Contains(w.visibleOrders(a, p), r.OrderID):
			continue
		}
		in = append(in, row)
	}
	matches := func(row obsRow) bool {
		flag := func(want *bool, got contracts.Flag) bool {
			return want == nil || row.site == "market.example" && got == contracts.FlagOf(*want)
		}
		return (r.Merchant == "" || row.merchant == r.Merchant) && (r.Brand == "" || itemBrands[row.item] == r.Brand) &&
			(r.Manufacturer == "" || r.Manufacturer == "Maker GmbH") && flag(r.IsPrime, row.prime) && flag(r.IsBuyBox, row.buyBox) &&
			(r.CoverageState == "" || coverage(row) == r.CoverageState)
	}
	newest := map[contracts.Pair]obsRow{}
	later := func(a, b obsRow) bool {
		newer := cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture))
		return newer > 0 || newer == 0 && stands(a, b)
	}
	for _, row := range in {
		if r.LatestPerPair && !matches(row) {
			continue
		}
		if old, ok := newest[row.pair()]; !ok || later(row, old) {
			newest[row.pair()] = row
		}
	}
	var out []obsRow
	for _, row := range in {
		n := newest[row.pair()]
		switch {
		case !matches(row),
			r.LatestPerPair && row != n,
			r.LatestObservationPerPair && (row.ms != n.ms || row.seq != n.seq || row.capture != n.capture):
			continue
		}
		out = append(out, row)
	}
	slices.SortFunc(out, compareDesc)
	if r.Sort == "asc" {
		slices.Reverse(out)
	}
	return out
}

// stands reports whether offer a, rather than b of the same capture, stands for
// it: the one that holds the buy box; then the one with the lowest total price,
// if any has one; then the one with the lowest price, if any has one; then the
// first. Amounts in two currencies are not compared; the order is CHF, EUR,
// JPY.
func stands(a, b obsRow) bool {
	holds := func(r obsRow) bool { return r.site == "market.example" && r.buyBox == contracts.FlagTrue }
	if holds(a) != holds(b) {
		return holds(a)
	}
	if a.price >= 0 && b.price >= 0 {
		if (a.shipping == nil) != (b.shipping == nil) {
			return a.shipping != nil
		}
		if one, other := cmp.Or(a.currency, "EUR"), cmp.Or(b.currency, "EUR"); one != other {
			return one < other
		}
		if a.shipping != nil && a.price+*a.shipping != b.price+*b.shipping {
			return a.price+*a.shipping < b.price+*b.shipping
		}
		if a.price != b.price {
			return a.price < b.price
		}
	} else if a.price != b.price {
		return a.price > b.price // one of them has none
	}
	return a.offer < b.offer
}

// coverage returns the state of a row: without a price, none was observed.
func coverage(r obsRow) string {
	switch r.outcome {
	case contracts.PriceObserved:
		if r.price >= 0 {
			return "PRICE_OBSERVED"
		}
	case contracts.Unavailable:
		return "UNAVAILABLE"
	case contracts.ProductNotFound:
		return "PRODUCT_NOT_FOUND"
	}
	return "UNKNOWN"
}

func (w *world) visibleOrders(a contracts.AccountID, p contracts.Pair) []contracts.OrderID {
	mandate := mandateOne
	if a == accountOther {
		mandate = mandateTwo
	}
	if a == accountOrder {
		return []contracts.OrderID{orderB}
	}
	return w.scopes[mandate][p]
}
