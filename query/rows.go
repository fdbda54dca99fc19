package query

import (
	"context"
	"slices"

	"preismon/contracts"
)

// rowEncoder writes rows as JSON objects straight from columns. Values that
// repeat within a block (sites, merchants, currencies) are escaped once per
// block, together with the key before them; values that repeat within a request
// (identity, customer data, reference prices) once per request.
type rowEncoder struct {
	include Include
	zone    *zoneFormat
	facts   siteFacts
	rich    *enrichment
	pens    []pen
	arrays  bool // see choose

	// Fragments by dictionary value of the block.
	dicts      []*fragments
	currencies []currencyText
	marks      []siteMarks

	amount struct{ from, to int } // the position of the last amount written
}

// currencyText is derived from a currency.
type currencyText struct {
	digits int
	money  []byte // the end of a money object
}

// siteMarks are the facts of one site of the block's dictionary.
type siteMarks struct{ offerFlags, rating bool }

func newRowEncoder(plan *resultsPlan, facts siteFacts, rich *enrichment) *rowEncoder {
	e := &rowEncoder{include: plan.include, zone: newZoneFormat(plan.zone), facts: facts, rich: rich}
	var run []itemSource // adjacent fields of the item are one fragment
	var keys []string
	end := func() {
		if len(run) > 0 {
			e.pens = append(e.pens, rich.penOf(run, keys))
			run, keys = nil, nil
		}
	}
	for n, f := range e.include.fields() {
		key := `,"` + f.Name + `":`
		if n == 0 {
			key = key[1:]
		}
		if s, ok := f.made.(itemSource); ok {
			run, keys = append(run, s), append(keys, key)
			continue
		}
		end()
		e.pens = append(e.pens, f.made.pen(e, key))
	}
	end()
	return e
}

// add writes one more field, after the others.
func (e *rowEncoder) add(f *field) { e.pens = append(e.pens, f.made.pen(e, `,"`+f.Name+`":`)) }

// begin prepares the encoder for the rows of a block.
func (e *rowEncoder) begin(b *Block) {
	e.beginFacts(b)
	for _, f := range e.dicts {
		f.begin(f.of(b))
	}
}

// beginFacts is the part of begin for sites and currencies.
func (e *rowEncoder) beginFacts(b *Block) {
	e.currencies = slices.Grow(e.currencies[:0], b.Currency.Values.Len())[:b.Currency.Values.Len()]
	for i := range e.currencies {
		e.currencies[i].set(b.Currency.Values.At(i))
	}
	if e.include.ExportFields {
		e.marks = e.marks[:0]
		for i := range b.Site.Values.Len() {
			e.marks = append(e.marks, e.facts.marks(contracts.SiteKey(b.Site.Values.At(i))))
		}
	}
}

func (c *currencyText) set(code []byte) {
	c.digits = contracts.Currency(code).Digits()
	c.money = append(appendTextOrNull(append(c.money[:0], `,"currencyCode":`...), code), '}')
}

// append writes row i of the block.
func (e *rowEncoder) append(out []byte, b *Block, i int) []byte {
	if e.arrays {
		return e.appendArray(out, b, i)
	}
	out = append(out, '{')
	for _, p := range e.pens {
		out = p(out, b, i)
	}
	return append(out, '}')
}

// fragments are the values of a dictionary as JSON, each after its key.
type fragments struct {
	of    func(*Block) *Dict
	key   string
	texts Texts
	index []uint32
}

func (f *fragments) begin(d *Dict) {
	f.index = d.Index
	f.fill(&d.Values)
}

func (f *fragments) fill(values *Texts) {
	f.texts.Reset()
	for i := range values.Len() {
		from := len(f.texts.Buf)
		f.texts.Buf = append(f.texts.Buf, f.key...)
		f.texts.Buf = appendTextOrNull(f.texts.Buf, values.At(i))
		f.texts.End(from)
	}
}

func appendTextOrNull(out, s []byte) []byte {
	if len(s) == 0 {
		return append(out, "null"...)
	}
	return AppendJSONString(out, s)
}

// siteFacts are the facts of all sites, as of the request.
type siteFacts map[contracts.SiteKey]contracts.Site

// siteFacts reads the facts as of what the caller sees.
func (s *Service) siteFacts(ctx context.Context, v Visibility) (siteFacts, error) {
	sites, err := s.store.sites(ctx, v)
	facts := make(siteFacts, len(sites))
	for _, site := range sites {
		facts[site.Site] = site
	}
	return facts, err
}

// marks returns which observed fields the site's rows may show. That depends on
// facts in the site's record, never on its name (choices 18): prime and buy box
// need canonical country markets (FLD-02b, FLD-03b), ratings the German market
// of the price comparison platform (FLD-04b).
func (f siteFacts) marks(k contracts.SiteKey) siteMarks {
	s := f[k]
	return siteMarks{
		offerFlags: s.CanonicalCountryMarket,
		rating:     s.PriceComparisonMarket && s.CountryCode == "DE",
	}
}

// stateOf is the outcome as its row shows it: a row without a price does not
// show that one was observed (choices 62).
func (b *Block) stateOf(i int) contracts.Outcome {
	if o := contracts.Outcome(b.Outcome[i]); o != contracts.PriceObserved || b.PriceMinor[i] >= 0 {
		return o
	}
	return contracts.OutcomeUnknown
}
