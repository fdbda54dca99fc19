package query

import (
	"strconv"

	"preismon/contracts"
)

// rowEncoder writes rows as JSON objects straight from columns. What repeats
// within a block (sites, merchants, currencies) is escaped once a block; what
// repeats within a request (identity, orders, customer data) once a request.
type rowEncoder struct {
	include Include
	zone    *zoneFormat
	facts   siteFacts
	rich    *enrichment

	sites, currencies, merchants, manufacturers, deliveries Texts // escaped dictionary values of the block
	marks                                                   []siteMarks
	digits                                                  []int
}

// siteMarks are the facts of one site of the block's dictionary.
type siteMarks struct{ offerFlags, rating bool }

func newRowEncoder(plan *resultsPlan, facts siteFacts, rich *enrichment) *rowEncoder {
	return &rowEncoder{include: plan.include, zone: newZoneFormat(plan.zone), facts: facts, rich: rich}
}

// begin prepares the encoder for the rows of a block.
func (e *rowEncoder) begin(b *Block) {
	escapeAll(&e.sites, &b.Site.Values)
	escapeAll(&e.currencies, &b.Currency.Values)
	escapeAll(&e.merchants, &b.Merchant.Values)
	e.digits = e.digits[:0]
	for i := range b.Currency.Values.Len() {
		e.digits = append(e.digits, contracts.Currency(b.Currency.Values.At(i)).Digits())
	}
	if e.include.ExportFields {
		escapeAll(&e.manufacturers, &b.Manufacturer.Values)
		escapeAll(&e.deliveries, &b.DeliveryText.Values)
		e.marks = e.marks[:0]
		for i := range b.Site.Values.Len() {
			e.marks = append(e.marks, e.facts.marks(contracts.SiteKey(b.Site.Values.At(i))))
		}
	}
}

// escapeAll writes each value as a JSON string, an empty one as null.
func escapeAll(into, values *Texts) {
	into.Reset()
	for i := range values.Len() {
		if v := values.At(i); len(v) == 0 {
			into.Buf = append(into.Buf, "null"...)
		} else {
			into.Buf = appendJSONString(into.Buf, v)
		}
		into.Ends = append(into.Ends, len(into.Buf))
	}
}

// The values of the field availability by outcome (choices 2): what the site
// says about buying there. A product the site does not have cannot be bought.
var availability = [...]string{
	contracts.OutcomeUnknown:   `"UNKNOWN"`,
	contracts.PriceObserved:    `"AVAILABLE"`,
	contracts.Unavailable:      `"UNAVAILABLE"`,
	contracts.ProductNotFound:  `"UNAVAILABLE"`,
	contracts.AccessRestricted: `"UNKNOWN"`,
	contracts.SiteUnavailable:  `"UNKNOWN"`,
}

// The values of the field coverageState by outcome (choices 7).
var coverageState = [...]string{
	contracts.OutcomeUnknown:   `"UNKNOWN"`,
	contracts.PriceObserved:    `"PRICE_OBSERVED"`,
	contracts.Unavailable:      `"UNAVAILABLE"`,
	contracts.ProductNotFound:  `"PRODUCT_NOT_FOUND"`,
	contracts.AccessRestricted: `"UNKNOWN"`,
	contracts.SiteUnavailable:  `"UNKNOWN"`,
}

// append writes row i of the block.
func (e *rowEncoder) append(out []byte, b *Block, i int) []byte {
	site, currency := int(b.Site.Index[i]), int(b.Currency.Index[i])
	digits := e.digits[currency]
	price := b.PriceMinor[i]

	out = append(out, `{"itemId":"`...)
	out = strconv.AppendUint(out, b.Item[i], 10)
	out = append(out, `","site":`...)
	out = append(out, e.sites.At(site)...)
	out = append(out, `,"capturedAt":"`...)
	out = e.zone.append(out, b.CapturedMs[i])
	out = append(out, `","availability":`...)
	out = append(out, availability[b.Outcome[i]]...)
	out = append(out, `,"price":`...)
	if price < 0 {
		out = append(out, `null,"priceMoney":null`...)
	} else {
		out = contracts.AppendMinor(out, price, digits)
		out = append(out, `,"priceMoney":`...)
		out = e.appendMoney(out, price, currency)
	}
	out = append(out, `,"currencyCode":`...)
	out = append(out, e.currencies.At(currency)...)
	out = append(out, `,"merchant":`...)
	out = append(out, e.merchants.At(int(b.Merchant.Index[i]))...)

	if e.include != (Include{}) {
		out = e.appendGroups(out, b, i, site, currency)
	}
	return append(out, '}')
}

// appendMoney writes {value, amountMinor, currencyCode}.
func (e *rowEncoder) appendMoney(out []byte, amount int64, currency int) []byte {
	out = append(out, `{"value":`...)
	out = contracts.AppendMinor(out, amount, e.digits[currency])
	out = append(out, `,"amountMinor":`...)
	out = strconv.AppendInt(out, amount, 10)
	out = append(out, `,"currencyCode":`...)
	out = append(out, e.currencies.At(currency)...)
	return append(out, '}')
}

func (e *rowEncoder) appendGroups(out []byte, b *Block, i, site, currency int) []byte {
	item := contracts.ItemID(b.Item[i])
	if e.include.Identity {
		out = append(out, e.rich.identity(i)...)
	}
	if e.include.OrderIDs {
		out = append(out, e.rich.orderIDs(contracts.Pair{Item: item, Site: contracts.SiteKey(b.Site.At(i))})...)
	}
	if e.include.CustomerData {
		out = append(out, e.rich.customerData(i)...)
	}
	if e.include.Coverage {
		out = append(out, `,"coverageState":`...)
		out = append(out, coverageState[b.Outcome[i]]...)
		out = append(out, `,"lastProcessedAt":`...)
		if at, ok := e.rich.lastProcessed(contracts.Pair{Item: item, Site: contracts.SiteKey(b.Site.At(i))}); ok {
			out = append(out, '"')
			out = e.zone.append(out, at)
			out = append(out, '"')
		} else {
			out = append(out, "null"...)
		}
	}
	if e.include.ExportFields {
		out = e.appendExport(out, b, i, site, currency)
	}
	return out
}

func (e *rowEncoder) appendExport(out []byte, b *Block, i, site, currency int) []byte {
	out = append(out, `,"productUrl":`...)
	out = appendTextOrNull(out, b.URL.At(i))
	out = append(out, `,"offerTitle":`...)
	out = appendTextOrNull(out, b.Title.At(i))
	price, shipping := b.PriceMinor[i], b.ShippingMinor[i]
	out = append(out, `,"shippingCost":`...)
	out = e.appendAmount(out, shipping, currency, `,"shippingCostMoney":`)
	total := int64(-1)
	if price >= 0 && shipping >= 0 {
		total = price + shipping
	}
	out = append(out, `,"totalPrice":`...)
	out = e.appendAmount(out, total, currency, `,"totalPriceMoney":`)
	out = append(out, `,"deliveryText":`...)
	out = append(out, e.deliveries.At(int(b.DeliveryText.Index[i]))...)
	out = append(out, `,"manufacturer":`...)
	out = append(out, e.manufacturers.At(int(b.Manufacturer.Index[i]))...)
	if e.marks[site].offerFlags {
		out = appendFlag(out, `,"isPrime":`, contracts.Flag(b.IsPrime[i]))
		out = appendFlag(out, `,"isBuyBox":`, contracts.Flag(b.IsBuyBox[i]))
	}
	if e.marks[site].rating && b.RatingTenths[i] != contracts.NoRating {
		out = append(out, `,"productRating":{"value":`...)
		out = contracts.AppendMinor(out, int64(b.RatingTenths[i]), 1)
		out = append(out, `,"scale":5}`...)
	}
	return e.rich.appendReferencePrices(out, i, b.Site.At(i), b.Currency.At(i))
}

// appendAmount writes the amount, then key and its money object; null both
// where it was not observed.
func (e *rowEncoder) appendAmount(out []byte, amount int64, currency int, key string) []byte {
	if amount < 0 {
		out = append(out, "null"...)
		out = append(out, key...)
		return append(out, "null"...)
	}
	out = contracts.AppendMinor(out, amount, e.digits[currency])
	out = append(out, key...)
	return e.appendMoney(out, amount, currency)
}

// appendFlag writes an observed flag; an unknown one is left out (FLD-02d).
func appendFlag(out []byte, key string, f contracts.Flag) []byte {
	switch f {
	case contracts.FlagTrue:
		return append(append(out, key...), "true"...)
	case contracts.FlagFalse:
		return append(append(out, key...), "false"...)
	}
	return out
}

func appendTextOrNull(out, s []byte) []byte {
	if len(s) == 0 {
		return append(out, "null"...)
	}
	return appendJSONString(out, s)
}

// siteFacts are the facts of all sites, as of the request.
type siteFacts map[contracts.SiteKey]contracts.Site

// marks tells which observed fields the site's rows may show. They belong to
// facts of the site's record, never to its name (choices 18): prime and buy
// box to canonical country markets (FLD-02b, FLD-03b), ratings to the German
// market of the price comparison platform (FLD-04b).
func (f siteFacts) marks(k contracts.SiteKey) siteMarks {
	s := f[k]
	return siteMarks{
		offerFlags: s.CanonicalCountryMarket,
		rating:     s.PriceComparisonMarket && s.CountryCode == "DE",
	}
}
