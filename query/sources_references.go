package query

import (
	"slices"
	"strconv"

	"preismon/contracts"
	"preismon/query/frame"
)

// referenceText holds the reference prices of an item's rows in one currency:
// at one site, or (without a site) wherever no more specific text applies.
type referenceText struct {
	currency contracts.Currency
	site     contracts.SiteKey
	prices   []*contracts.ReferencePrice
	json     []byte
}

var noReferences = &referenceText{json: []byte("[]")}

// referenceOf returns the customer's own prices of an item that apply to a site
// and a currency.
func referenceOf(texts []referenceText, site, currency []byte) *referenceText {
	found := noReferences
	for i := range texts {
		t := &texts[i]
		if string(t.currency) != string(currency) {
			continue
		}
		if t.site == "" {
			found = t
		} else if string(t.site) == string(site) {
			return t
		}
	}
	return found
}

// referenceTexts returns what rows of an item can show of its reference prices.
func referenceTexts(all []contracts.ReferencePrice) (texts []referenceText) {
	for _, p := range all {
		same := func(t referenceText) bool { return t.currency == p.CurrencyCode && t.site == p.AppliesToSite }
		if !slices.ContainsFunc(texts, same) {
			texts = append(texts, referenceText{
				currency: p.CurrencyCode, site: p.AppliesToSite, prices: referencesAt(all, p.AppliesToSite, p.CurrencyCode),
			}.written())
		}
	}
	return texts
}

// referencesAt returns the customer's own prices that apply to rows of a site
// and a currency: those for that very site, then those for no site; each
// publicly distinct entry once (FLD-05c to FLD-05f).
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

// written fills in the JSON of the prices.
func (t referenceText) written() referenceText {
	t.json = append(t.json, '[')
	for i, p := range t.prices {
		if i > 0 {
			t.json = append(t.json, ',')
		}
		t.json = appendReferencePrice(t.json, p)
	}
	t.json = append(t.json, ']')
	return t
}

// single returns the price if exactly one applies to a row, otherwise nil: only
// then does it have fields of its own (FLD-06b).
func (t *referenceText) single() *contracts.ReferencePrice {
	if len(t.prices) == 1 {
		return t.prices[0]
	}
	return nil
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
			out = AppendJSONString(out, []byte(f.value))
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

func (m *batcher) referencesOf() []*referenceText {
	if len(m.references) == 0 {
		for _, i := range m.at {
			m.references = append(m.references, m.e.rich.prices[i])
		}
	}
	return m.references
}

// referencePrices are all of the customer's own prices that apply to the row.
type referencePrices struct{}

func (referencePrices) pen(e *rowEncoder, key string) pen {
	return func(out []byte, b *Block, i int) []byte {
		return append(append(out, key...), e.rich.prices[i].json...)
	}
}

func (referencePrices) vector(m *batcher, v *frame.Vector) {
	if m.flat {
		all := own(v)
		for _, t := range m.referencesOf() {
			from := len(all.Buf)
			all.Buf = append(all.Buf, t.json...)
			all.End(from)
		}
		return
	}
	m.prices, v.Ends = m.prices[:0], v.Ends[:0]
	for _, t := range m.referencesOf() {
		m.prices = append(m.prices, t.prices...)
		v.Ends = append(v.Ends, int32(len(m.prices)))
	}
	v.Members = members(v, 1)
	entry := &v.Members[0]
	entry.Members = members(entry, 6)
	fillMoney(entry.Members, m.prices)
	for n, of := range []func(*contracts.ReferencePrice) string{
		func(p *contracts.ReferencePrice) string { return string(p.AppliesToSite) },
		func(p *contracts.ReferencePrice) string { return p.ReferenceQuantity },
		func(p *contracts.ReferencePrice) string { return p.PriceType },
	} {
		part := &entry.Members[3+n]
		all := own(part)
		part.Valid = part.Valid.Room(len(m.prices))
		for k, p := range m.prices {
			all.Append(of(p))
			if of(p) != "" {
				part.Valid.Set(k)
			}
		}
		part.Values = clean(all)
	}
}

// fillMoney fills the members of money objects; a nil price is empty.
func fillMoney(parts []frame.Vector, prices []*contracts.ReferencePrice) {
	value, minor, currency := &parts[0], &parts[1], own(&parts[2])
	value.Ints, value.Digits = room64(value.Ints, len(prices)), room8(value.Digits, len(prices))
	for k, p := range prices {
		value.Ints[k], value.Digits[k] = 0, 0
		if p == nil {
			currency.Append("")
			continue
		}
		value.Ints[k], value.Digits[k] = p.AmountMinor, uint8(p.CurrencyCode.Digits())
		currency.Append(string(p.CurrencyCode))
	}
	minor.Ints = value.Ints
}

// referencePrice is the amount of the only price that applies to the row.
type referencePrice struct{}

func (referencePrice) pen(e *rowEncoder, key string) pen {
	return func(out []byte, b *Block, i int) []byte {
		p := e.rich.prices[i].single()
		if p == nil {
			return out
		}
		return contracts.AppendMinor(append(out, key...), p.AmountMinor, p.CurrencyCode.Digits())
	}
}

func (referencePrice) vector(m *batcher, v *frame.Vector) {
	n := len(m.at)
	v.Valid, v.Ints, v.Digits = v.Valid.Room(n), room64(v.Ints, n), room8(v.Digits, n)
	for k, t := range m.referencesOf() {
		v.Ints[k], v.Digits[k] = 0, 0
		if p := t.single(); p != nil {
			v.Ints[k], v.Digits[k] = p.AmountMinor, uint8(p.CurrencyCode.Digits())
			v.Valid.Set(k)
		}
	}
}

// referencePriceMoney is the same with its currency.
type referencePriceMoney struct{}

func (referencePriceMoney) pen(e *rowEncoder, key string) pen {
	key += "{"
	return func(out []byte, b *Block, i int) []byte {
		p := e.rich.prices[i].single()
		if p == nil {
			return out
		}
		return append(appendMoneyFields(append(out, key...), p), '}')
	}
}

func (referencePriceMoney) vector(m *batcher, v *frame.Vector) {
	v.Valid, v.Members, m.prices = v.Valid.Room(len(m.at)), members(v, 3), m.prices[:0]
	for k, t := range m.referencesOf() {
		m.prices = append(m.prices, t.single())
		if t.single() != nil {
			v.Valid.Set(k)
		}
	}
	fillMoney(v.Members, m.prices)
	for n := range v.Members {
		v.Members[n].Valid = v.Valid
	}
}
