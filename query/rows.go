package query

import (
	"slices"
	"strconv"

	"preismon/contracts"
)

// rowEncoder writes rows as JSON objects straight from columns. What repeats
// within a block (sites, merchants, currencies) is escaped once a block, with
// the keys that stand around it; what repeats within a request (identity,
// orders, customer data, reference prices) once a request.
type rowEncoder struct {
	include Include
	zone    *zoneFormat
	facts   siteFacts
	rich    *enrichment

	// Fragments by dictionary value of the block.
	sites, merchants, manufacturers, deliveries Texts
	currencies                                  []currencyText
	marks                                       []siteMarks
}

// currencyText are the fragments of a currency.
type currencyText struct {
	digits int
	money  []byte // the end of a money object
	priced []byte // from the end of priceMoney to the merchant
	bare   []byte // the same without a price
}

// siteMarks are the facts of one site of the block's dictionary.
type siteMarks struct{ offerFlags, rating bool }

func newRowEncoder(plan *resultsPlan, facts siteFacts, rich *enrichment) *rowEncoder {
	return &rowEncoder{include: plan.include, zone: newZoneFormat(plan.zone), facts: facts, rich: rich}
}

// begin prepares the encoder for the rows of a block.
func (e *rowEncoder) begin(b *Block) {
	fragments(&e.sites, `","site":`, &b.Site.Values, `,"capturedAt":"`)
	fragments(&e.merchants, `,"merchant":`, &b.Merchant.Values, ``)
	e.currencies = slices.Grow(e.currencies[:0], b.Currency.Values.Len())[:b.Currency.Values.Len()]
	for i := range e.currencies {
		e.currencies[i].set(b.Currency.Values.At(i))
	}
	if e.include.ExportFields {
		fragments(&e.deliveries, `,"deliveryText":`, &b.DeliveryText.Values, ``)
		fragments(&e.manufacturers, `,"manufacturer":`, &b.Manufacturer.Values, ``)
		e.marks = e.marks[:0]
		for i := range b.Site.Values.Len() {
			e.marks = append(e.marks, e.facts.marks(contracts.SiteKey(b.Site.Values.At(i))))
		}
	}
}

func (c *currencyText) set(code []byte) {
	c.digits = contracts.Currency(code).Digits()
	c.money = append(appendTextOrNull(append(c.money[:0], `,"currencyCode":`...), code), '}')
	c.priced = appendTextOrNull(append(append(c.priced[:0], c.money...), `,"currencyCode":`...), code)
	c.bare = appendTextOrNull(append(c.bare[:0], `null,"priceMoney":null,"currencyCode":`...), code)
}

// fragments writes each value as a JSON string, an empty one as null, between
// what always stands around it.
func fragments(into *Texts, before string, values *Texts, behind string) {
	into.Reset()
	for i := range values.Len() {
		from := len(into.Buf)
		into.Buf = append(into.Buf, before...)
		into.Buf = appendTextOrNull(into.Buf, values.At(i))
		into.Buf = append(into.Buf, behind...)
		into.end(from)
	}
}

// The end of the capture time, and the field availability by outcome (choices
// 2): what the site says about buying there. A product the site does not have
// cannot be bought.
var availability = [...]string{
	contracts.OutcomeUnknown:   `","availability":"UNKNOWN","price":`,
	contracts.PriceObserved:    `","availability":"AVAILABLE","price":`,
	contracts.Unavailable:      `","availability":"UNAVAILABLE","price":`,
	contracts.ProductNotFound:  `","availability":"UNAVAILABLE","price":`,
	contracts.AccessRestricted: `","availability":"UNKNOWN","price":`,
	contracts.SiteUnavailable:  `","availability":"UNKNOWN","price":`,
}

// stateOf is the outcome as its row shows it: one without a price does not
// tell that one was observed (choices 62).
func (b *Block) stateOf(i int) contracts.Outcome {
	if o := contracts.Outcome(b.Outcome[i]); o != contracts.PriceObserved || b.PriceMinor[i] >= 0 {
		return o
	}
	return contracts.OutcomeUnknown
}

// The values of the field coverageState by what a row shows (choices 7).
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
	site, currency := int(b.Site.Index[i]), &e.currencies[b.Currency.Index[i]]
	out = append(out, `{"itemId":"`...)
	out = strconv.AppendUint(out, b.Item[i], 10)
	out = append(out, e.sites.At(site)...)
	out = e.zone.append(out, b.CapturedMs[i])
	out = append(out, availability[b.Outcome[i]]...)
	if price := b.PriceMinor[i]; price < 0 {
		out = append(out, currency.bare...)
	} else {
		out = currency.appendBoth(out, price, `,"priceMoney":{"value":`)
		out = append(out, currency.priced...)
	}
	out = append(out, e.merchants.At(int(b.Merchant.Index[i]))...)
	if e.include != (Include{}) {
		out = e.appendGroups(out, b, i, site, currency)
	}
	return append(out, '}')
}

// appendBoth writes an amount, the key of its money object with the beginning
// of that object, and the object up to its currency.
func (c *currencyText) appendBoth(out []byte, amount int64, key string) []byte {
	from := len(out)
	out = contracts.AppendMinor(out, amount, c.digits)
	to := len(out)
	out = append(out, key...)
	out = append(out, out[from:to]...)
	out = append(out, `,"amountMinor":`...)
	return strconv.AppendInt(out, amount, 10)
}

func (e *rowEncoder) appendGroups(out []byte, b *Block, i, site int, currency *currencyText) []byte {
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
		out = append(out, coverageState[b.stateOf(i)]...)
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

func (e *rowEncoder) appendExport(out []byte, b *Block, i, site int, currency *currencyText) []byte {
	out = append(out, `,"productUrl":`...)
	out = appendTextOrNull(out, b.URL.At(i))
	out = append(out, `,"offerTitle":`...)
	out = appendTextOrNull(out, b.Title.At(i))
	price, shipping := b.PriceMinor[i], b.ShippingMinor[i]
	if shipping < 0 {
		out = append(out, `,"shippingCost":null,"shippingCostMoney":null`...)
	} else {
		out = append(out, `,"shippingCost":`...)
		out = currency.appendBoth(out, shipping, `,"shippingCostMoney":{"value":`)
		out = append(out, currency.money...)
	}
	if price < 0 || shipping < 0 {
		out = append(out, `,"totalPrice":null,"totalPriceMoney":null`...)
	} else {
		out = append(out, `,"totalPrice":`...)
		out = currency.appendBoth(out, price+shipping, `,"totalPriceMoney":{"value":`)
		out = append(out, currency.money...)
	}
	out = append(out, e.deliveries.At(int(b.DeliveryText.Index[i]))...)
	out = append(out, e.manufacturers.At(int(b.Manufacturer.Index[i]))...)
	if e.marks[site].offerFlags {
		out = appendFlag(out, `,"isPrime":`, contracts.Flag(b.IsPrime[i]))
		out = appendFlag(out, `,"isBuyBox":`, contracts.Flag(b.IsBuyBox[i]))
	}
	if e.marks[site].rating && b.RatingTenths[i] != contracts.NoRating {
		out = appendRating(out, b.RatingTenths[i])
	}
	return append(out, e.rich.referencePrices(i, b.Site.At(i), b.Currency.At(i))...)
}

func appendRating(out []byte, tenths uint8) []byte {
	out = append(out, `,"productRating":{"value":`...)
	out = contracts.AppendMinor(out, int64(tenths), 1)
	return append(out, `,"scale":5}`...)
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
