package maps

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"preismon/contracts"
	"preismon/contracts/event"
)

// state is what a row says about its product.
type state uint8

const (
	offered     state = iota // with a price
	unavailable              // with or without a price
	unknown                  // neither a price nor a word
)

// said is what a row says of its capture, in the mapped columns. Two rows of
// one capture that say the same are exact duplicates.
type said struct {
	product                               *product
	state                                 state
	price, shipping                       int64 // minor units; -1: none
	currency                              contracts.Currency
	prime, buyBox                         contracts.Flag
	merchant, rating, title, url          string
	delivery, name, brand, maker, telling string
}

// row is one row, understood.
type row struct {
	said
	line int
	ms   int64 // capture time, Unix milliseconds
}

// site is a site of the file.
type site struct {
	contracts.Site
	index    int
	zone     *time.Location // to assume; nil: none
	products map[string]*product
	pairs    map[contracts.ItemID]*pair
	rows     int
	obs      int
	earliest int64
}

// product is what a site calls a product, by all of its keys.
type product struct {
	*pair
	key     string
	name    string
	renamed bool
	counted bool
}

// pair is one item at one site.
type pair struct {
	site *site
	item *item
	// The captures seen so far span min to max. A row beyond the span begins a
	// capture, and a row right behind one of the same capture goes on with it.
	// Anything else may belong to an earlier capture: then the pair is loose,
	// and its rows are sorted.
	min, max int64
	loose    bool
	rows     int
}

// item is a product of the catalogue.
type item struct {
	contracts.Item
	index                    int
	nameAt, brandAt, makerAt int64
	rows                     int  // good ones, of all sites
	ownKey                   bool // known by its site's key only
	forms                    bool // its EAN is written in several lengths
}

// book holds what is known of sites, products and items.
type book struct {
	m        *Mapping
	at       string // the capture time of all rows; empty: a column has it
	latest   int64
	earliest int64
	sites    map[string]*site // by what the column says
	byKey    map[contracts.SiteKey]*site
	ordered  []*site
	items    map[contracts.ItemID]*item
	list     []*item
	tally    *tally // nil: count nothing

	lastSite    *site
	lastValue   string
	lastKeys    [5]string
	lastProduct *product
	prev        group // of the row before, while learning

	products   int
	first, end int64
	currencies map[contracts.Currency]int
}

// group is one capture of one item at one site.
type group struct {
	pair *pair
	ms   int64
}

func newBook(m *Mapping, now time.Time, t *tally) *book {
	return &book{
		m: m, tally: t,
		earliest: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		latest:   now.Add(event.MaxClockLead).UnixMilli(),
		sites:    map[string]*site{}, byKey: map[contracts.SiteKey]*site{},
		items: map[contracts.ItemID]*item{}, currencies: map[contracts.Currency]int{},
	}
}

func reject(line int, code, format string, args ...any) *rejection {
	return &rejection{Line: line, Code: code, Reason: fmt.Sprintf(format, args...)}
}

// parse reads one row into r, or says why not.
func (b *book) parse(x *columnIndex, rec []string, line int, r *row) *rejection {
	c := &b.m.Columns
	*r = row{line: line}
	for _, s := range rec {
		if !utf8.ValidString(s) {
			return reject(line, "not UTF-8", "not UTF-8; if the file is older, csv.encoding: windows-1252 reads it")
		}
	}
	s, bad := b.site(text(&c.Site, x.site, rec), line)
	if bad != nil {
		return bad
	}
	if r.product, bad = b.product(x, rec, s, line); bad != nil {
		return bad
	}

	at := b.at
	if x.at >= 0 {
		at = strings.TrimSpace(rec[x.at])
	}
	if at == "" {
		return reject(line, "capture time", "no capture time")
	}
	if x.clock >= 0 {
		at = strings.TrimSpace(at + " " + strings.TrimSpace(rec[x.clock]))
	}
	m, why := c.CapturedAt.parse(at, s.zone)
	if why != "" {
		return reject(line, "capture time", "capture time %q %s", cut(at, 40), why)
	}
	if m.ms < b.earliest {
		return reject(line, "capture time", "capture time %q lies before the year 2000", cut(at, 40))
	}
	if m.ms > b.latest {
		return reject(line, "capture time", "capture time %q lies in the future", cut(at, 40))
	}
	r.ms = m.ms

	currency := text(&c.Currency, x.currency, rec)
	assumed := currency == ""
	if assumed {
		currency = string(s.CurrencyCode)
	}
	r.currency = contracts.Currency(currency)
	if !r.currency.Valid() {
		return reject(line, "currency", "currency %q is no active ISO 4217 code", cut(currency, 20))
	}
	if r.price, bad = amount(&c.Price, x.price, rec, r.currency, line, "price"); bad != nil {
		return bad
	}
	if r.shipping, bad = amount(&c.Shipping, x.shipping, rec, r.currency, line, "shipping"); bad != nil {
		return bad
	}

	available := contracts.FlagUnknown
	if x.available >= 0 {
		v := strings.TrimSpace(rec[x.available])
		var ok bool
		if available, ok = flag(&c.Availability, v); !ok {
			return reject(line, "availability", "availability %q is in neither list of the mapping", cut(v, 40))
		}
	}
	switch {
	case available == contracts.FlagFalse:
		r.state = unavailable
	case r.price >= 0:
		r.state = offered
	case available == contracts.FlagTrue:
		return reject(line, "no price", "available, but without a price")
	case c.Price.Missing == "unavailable":
		r.state = unavailable
	case c.Price.Missing == "unknown":
		r.state = unknown
	default:
		return reject(line, "no price", "no price, and nothing says that the product is unavailable")
	}

	r.merchant = text(&c.Merchant, x.merchant, rec)
	if len(r.merchant) > 256 {
		return reject(line, "merchant", "the merchant's name has %d bytes, at most 256", len(r.merchant))
	}
	d := doubts{t: b.tally, line: line}
	r.rating = text(&c.Rating, x.rating, rec)
	if len(r.rating) > 64 {
		r.rating = ""
		d.add(ratingLong)
	}
	r.url = text(&c.URL, x.url, rec)
	if len(r.url) > 2048 {
		r.url = ""
		d.add(urlLong)
	}
	r.title = d.cut(text(&c.Title, x.title, rec), 1024)
	r.delivery = d.cut(text(&c.DeliveryText, x.delivery, rec), 512)
	r.name = d.cut(text(&c.Name, x.name, rec), 1024)
	r.brand = d.cut(text(&c.Brand, x.brand, rec), 256)
	r.maker = d.cut(text(&c.Manufacturer, x.maker, rec), 256)
	r.buyBox = d.flag(&c.IsBuyBox, x.buyBox, rec, buyBoxUnread)
	r.prime = d.flag(&c.IsPrime, x.prime, rec, primeUnread)
	if len(x.distinguish) > 0 {
		if len(x.distinguish) == 1 {
			r.telling = rec[x.distinguish[0]]
		} else {
			parts := make([]string, len(x.distinguish))
			for i, at := range x.distinguish {
				parts[i] = rec[at]
			}
			r.telling = strings.Join(parts, "\x00")
		}
	}

	if d.t != nil {
		d.addIf(m.zoneless, zoneAssumed)
		d.addIf(m.day, dayAssumed)
		d.addIf(m.shifted, clockShift)
		d.addIf(assumed && c.Currency.mapped() && (r.price >= 0 || r.shipping >= 0), currencyAssumed)
		d.addIf(r.state == unavailable && r.price >= 0, unavailablePriced)
		d.addIf(r.price < 0, priceMissing)
		d.addIf(r.price == 0, priceZero)
	}
	return nil
}

// site finds or makes the site that the column calls value.
func (b *book) site(value string, line int) (*site, *rejection) {
	if value == "" {
		return nil, reject(line, "site", "no site")
	}
	if b.lastSite != nil && b.lastValue == value {
		return b.lastSite, nil
	}
	s, ok := b.sites[value]
	if !ok {
		facts, err := b.m.site(value)
		if err != nil {
			return nil, reject(line, "site", "site %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if s = b.byKey[facts.Site]; s == nil {
			value = strings.Clone(value)
			facts.Name = strings.Clone(facts.Name)
			facts.Site = contracts.SiteKey(strings.Clone(string(facts.Site)))
			s = &site{Site: facts, index: len(b.ordered), zone: b.m.zone(value), products: map[string]*product{}, pairs: map[contracts.ItemID]*pair{}}
			b.byKey[facts.Site] = s
			b.ordered = append(b.ordered, s)
			if _, named := b.m.Sites[value]; !named {
				(&doubts{t: b.tally, line: line}).add(siteUnnamed)
			}
		}
		b.sites[strings.Clone(value)] = s
	}
	b.lastSite, b.lastValue = s, value
	return s, nil
}

// zone is the zone to assume for times of the site.
func (m *Mapping) zone(value string) *time.Location {
	name := m.Sites[value].Zone
	if name == "" && m.DefaultSite != nil {
		name = m.DefaultSite.Zone
	}
	if name == "" {
		return m.Columns.CapturedAt.zone
	}
	loc, err := location(name)
	if err != nil {
		return nil // refused by ParseMapping
	}
	return loc
}

// product finds or makes the product of a row.
func (b *book) product(x *columnIndex, rec []string, s *site, line int) (*product, *rejection) {
	c := &b.m.Columns
	keys := [5]string{text(&c.ProductKey, x.key, rec)}
	if x.ean >= 0 {
		keys[1] = strings.TrimSpace(rec[x.ean])
	}
	if x.pzn >= 0 {
		keys[2] = strings.TrimSpace(rec[x.pzn])
	}
	if keys[3] = text(&c.ASIN, x.asin, rec); keys[3] != "" {
		keys[4] = strings.ToLower(text(&c.ASINLocale, x.locale, rec))
	}
	if b.lastProduct != nil && b.lastProduct.site == s && keys == b.lastKeys {
		return b.lastProduct, nil
	}
	full := strings.Join(keys[:], "\x00")
	p := s.products[full]
	if p == nil {
		for i := range keys {
			keys[i] = strings.Clone(keys[i])
		}
		key := first(keys[0], keys[1], keys[2], keys[3])
		if key == "" {
			return nil, reject(line, "product", "no product key")
		}
		if len(key) > 1024 {
			return nil, reject(line, "product", "the product key has %d bytes, at most 1024", len(key))
		}
		p = &product{key: key, pair: b.pair(s, b.item(s, key, keys, line))}
		s.products[strings.Clone(full)] = p
	}
	b.lastProduct = p
	b.lastKeys = keys
	return p, nil
}

// item finds or makes the item behind the keys of a product: by its EAN, else
// PZN, else ASIN, else by what the site itself calls it.
func (b *book) item(s *site, key string, keys [5]string, line int) *item {
	c := &b.m.Columns
	d := doubts{t: b.tally, line: line}
	known := contracts.Item{}
	gtin, class := classifyEAN(keys[1], c.EAN.PadTo12)
	known.EAN = gtin
	switch class {
	case eanPadded:
		d.add(eanPad)
	case eanInStore:
		d.add(eanStore)
	case eanBadDigit:
		d.add(eanDigit)
	case eanBadLength:
		d.add(eanLength)
	case eanNoDigits:
		d.add(eanText)
	}
	if keys[2] != "" {
		pzn, padded, ok := classifyPZN(keys[2], c.PZN.Pad == 8)
		switch {
		case !ok:
			d.add(pznWrong)
		case padded:
			d.add(pznPad)
			known.PZN = pzn
		default:
			known.PZN = pzn
		}
	}
	if asin := strings.ToUpper(keys[3]); asin != "" {
		try := contracts.Item{ItemID: 1, ASIN: asin, ASINLocale: keys[4]}
		if try.Validate() == nil {
			known.ASIN, known.ASINLocale = asin, keys[4]
		} else {
			d.add(asinWrong)
		}
	}
	own := false
	switch {
	case known.EAN != "" && class != eanInStore:
		known.ItemID = contracts.DeriveID[contracts.ItemID]("ean", gtin14(known.EAN))
	case known.PZN != "":
		known.ItemID = contracts.DeriveID[contracts.ItemID]("pzn", known.PZN)
	case known.ASIN != "":
		known.ItemID = contracts.DeriveID[contracts.ItemID]("asin", known.ASINLocale, known.ASIN)
	default:
		own = true
		known.ItemID = contracts.DeriveID[contracts.ItemID]("key", b.m.Source, string(s.Site.Site), key)
	}
	it := b.items[known.ItemID]
	if it == nil {
		it = &item{Item: known, index: len(b.list), ownKey: own}
		b.items[known.ItemID] = it
		b.list = append(b.list, it)
		return it
	}
	if known.EAN != "" && it.EAN != known.EAN {
		if !it.forms {
			it.forms = true
			d.add(eanForms)
		}
		if eanRank(known.EAN) > eanRank(it.EAN) {
			it.EAN = known.EAN
		}
	}
	if it.PZN == "" {
		it.PZN = known.PZN
	}
	if it.ASIN == "" {
		it.ASIN, it.ASINLocale = known.ASIN, known.ASINLocale
	}
	return it
}

func (b *book) pair(s *site, it *item) *pair {
	p := s.pairs[it.ItemID]
	if p == nil {
		p = &pair{site: s, item: it}
		s.pairs[it.ItemID] = p
	}
	return p
}

// learn takes what a good row says about its item, its pair and the file.
func (b *book) learn(r *row) {
	p, s, it := r.product.pair, r.product.site, r.product.item
	g := group{p, r.ms}
	switch {
	case p.rows == 0:
		p.min, p.max = r.ms, r.ms
	case g == b.prev:
	case r.ms > p.max:
		p.max = r.ms
	case r.ms < p.min:
		p.min = r.ms
	default:
		p.loose = true
	}
	b.prev = g
	p.rows++
	s.rows++
	it.rows++
	if !r.product.counted {
		r.product.counted = true
		b.products++
	}
	if s.earliest == 0 || r.ms < s.earliest {
		s.earliest = r.ms
	}
	if b.first == 0 || r.ms < b.first {
		b.first = r.ms
	}
	b.end = max(b.end, r.ms)
	if r.price >= 0 || r.shipping >= 0 {
		b.currencies[r.currency]++
	}

	if known := r.product; r.name != "" && r.name != known.name {
		if known.name != "" && !known.renamed {
			known.renamed = true
			(&doubts{t: b.tally, line: r.line}).add(renamed)
		}
		known.name = strings.Clone(r.name)
	}
	keep := func(field *string, at *int64, v string) {
		if v == "" || r.ms < *at {
			return
		}
		*at = r.ms
		if *field != v {
			*field = strings.Clone(v)
		}
	}
	keep(&it.Name, &it.nameAt, r.name)
	keep(&it.Brand, &it.brandAt, r.brand)
	keep(&it.Manufacturer, &it.makerAt, r.maker)
}

// text reads a text field: its column or columns, without blanks at the ends,
// translated by the value list, or the fixed value where there is nothing.
func text(t *Text, at texts, rec []string) string {
	clean := strings.TrimSpace
	if t.prose {
		clean = squeeze
	}
	var s string
	switch len(at) {
	case 0:
	case 1:
		s = clean(rec[at[0]])
	default:
		parts := make([]string, 0, len(at))
		for _, i := range at {
			if p := clean(rec[i]); p != "" {
				parts = append(parts, p)
			}
		}
		s = strings.Join(parts, t.Join)
	}
	if t.Values != nil {
		if v, ok := t.Values[s]; ok {
			s = v
		}
	}
	if s == "" {
		s = t.Value
	}
	if s == "" || t.Prefix == "" && t.Suffix == "" {
		return s
	}
	return t.Prefix + s + t.Suffix
}

// squeeze makes every run of blanks, tabs and line breaks one blank, and
// leaves none at the ends.
func squeeze(s string) string {
	blank := true // as if one stood before
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			if blank {
				return strings.Join(strings.Fields(s), " ")
			}
			blank = true
		case c < ' ' || c >= 0x80:
			if strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }) || blankRun(s) {
				return strings.Join(strings.Fields(s), " ")
			}
			return s
		default:
			blank = false
		}
	}
	if blank && s != "" {
		return strings.Join(strings.Fields(s), " ")
	}
	return s
}

func blankRun(s string) bool {
	return s[0] == ' ' || s[len(s)-1] == ' ' || strings.Contains(s, "  ")
}

// flag reads a yes or no; ok is false for a text in neither list.
func flag(g *Flag, v string) (f contracts.Flag, ok bool) {
	fold := func(w string) bool { return strings.EqualFold(w, v) }
	switch {
	case slices.ContainsFunc(g.Yes, fold):
		return contracts.FlagTrue, true
	case slices.ContainsFunc(g.No, fold):
		return contracts.FlagFalse, true
	}
	return contracts.FlagUnknown, v == ""
}

// amount reads money; -1: none.
func amount(a *Amount, at int, rec []string, cur contracts.Currency, line int, what string) (int64, *rejection) {
	if at < 0 {
		return -1, nil
	}
	s := strings.TrimSpace(rec[at])
	for _, z := range a.Zero {
		if strings.EqualFold(s, z) {
			return 0, nil
		}
	}
	n, ok := plainAmountText(a, s)
	if n == "" && ok {
		return -1, nil
	}
	if !ok {
		return 0, reject(line, what, "%s %q is not an amount", what, cut(s, 40))
	}
	if a.Minor {
		if strings.Contains(n, ".") {
			return 0, reject(line, what, "%s %q is not a whole number of the minor unit", what, cut(s, 40))
		}
		n = shift(n, cur.Digits())
	}
	m, err := contracts.ParseMoney(n, cur)
	if err != nil {
		code := what
		if _, frac, _ := strings.Cut(n, "."); len(strings.TrimRight(frac, "0")) > cur.Digits() {
			code = what + " decimals"
		}
		return 0, reject(line, code, "%s %s", what, cut(err.Error(), 120))
	}
	return m.AmountMinor, nil
}

// shift writes a whole number of minor units in the main unit.
func shift(n string, digits int) string {
	if digits == 0 {
		return n
	}
	if pad := digits + 1 - len(n); pad > 0 {
		n = strings.Repeat("0", pad) + n
	}
	return n[:len(n)-digits] + "." + n[len(n)-digits:]
}

// plainAmountText brings an amount to the form 1234.56; ok is false when its
// marks are not where the mapping says.
func plainAmountText(a *Amount, s string) (_ string, ok bool) {
	for _, junk := range a.Strip {
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, junk), junk))
	}
	if a.Thousands != "" {
		whole, frac, found := strings.Cut(s, a.Decimal)
		if strings.Contains(frac, a.Thousands) {
			return "", false
		}
		if groups := strings.Split(whole, a.Thousands); len(groups) > 1 {
			for i, g := range groups {
				if len(g) != 3 && (i > 0 || len(g) == 0 || len(g) > 3) {
					return "", false
				}
			}
			whole = strings.Join(groups, "")
		}
		s = whole
		if found {
			s += a.Decimal + frac
		}
	}
	if a.Decimal == "," {
		if strings.Contains(s, ".") || strings.Count(s, ",") > 1 {
			return "", false
		}
		s = strings.Replace(s, ",", ".", 1)
	}
	return s, true
}
