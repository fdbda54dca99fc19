package maps

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// fieldNames are the names that columns have in files of German and English
// shops, folded, the most likely first, by field.
var fieldNames = []fieldName{
	{"ean", []string{"ean", "gtin", "ean13", "gtin13", "gtin14", "eancode", "barcode", "upc"}},
	{"pzn", []string{"pzn"}},
	{"asinLocale", []string{"asinlocale"}},
	{"asin", []string{"asin"}},
	{"site", []string{"site", "shop", "store", "shopname", "storename", "domain", "website", "webshop", "onlineshop", "marketplace", "marktplatz", "portal", "plattform", "platform", "quelle", "source"}},
	{"price", []string{"price", "preis", "currentprice", "saleprice", "offerprice", "verkaufspreis", "vkpreis", "vk", "bruttopreis", "preisbrutto", "endpreis", "unitprice", "pricevalue", "amount", "betrag"}},
	{"shipping", []string{"shipping", "shippingcost", "shippingprice", "versand", "versandkosten", "lieferkosten", "deliverycost"}},
	{"currency", []string{"currency", "currencycode", "wahrung", "waehrung"}},
	{"capturedAt", []string{"capturedat", "seenat", "observedat", "crawledat", "scrapedat", "checkedat", "retrievedat", "timestamp", "zeitstempel", "datetime", "datumuhrzeit", "zeitpunkt", "erfasstam", "abgerufenam", "captured", "observed", "crawled", "scraped", "checked", "retrieved", "erfasst", "abgerufen", "stand", "date", "datum", "tag", "day", "seen", "createdat"}},
	{"clock", []string{"uhrzeit", "time", "zeit", "clock"}},
	{"availability", []string{"availability", "available", "isavailable", "verfugbarkeit", "verfuegbarkeit", "verfugbar", "verfuegbar", "lieferbar", "instock", "stock", "stockquantity", "stocklevel", "bestand", "lagerbestand", "stockstatus", "lagerstatus", "status"}},
	{"merchant", []string{"merchant", "merchantname", "seller", "sellername", "handler", "haendler", "verkaufer", "verkaeufer", "anbieter", "vendor"}},
	{"isBuyBox", []string{"buybox", "isbuybox", "inbuybox"}},
	{"isPrime", []string{"prime", "isprime"}},
	{"rating", []string{"rating", "stars", "bewertung", "sterne"}},
	{"url", []string{"url", "link", "producturl", "productlink", "deeplink", "produktlink"}},
	{"deliveryText", []string{"deliverytext", "delivery", "deliverytime", "lieferzeit", "lieferung"}},
	{"brand", []string{"brand", "marke"}},
	{"manufacturer", []string{"manufacturer", "hersteller", "maker"}},
	{"name", []string{"name", "productname", "produktname", "title", "producttitle", "titel", "bezeichnung", "artikelbezeichnung", "artikelname", "produktbezeichnung", "product", "produkt", "artikel", "item"}},
	{"productKey", []string{"sku", "artikelnummer", "artikelnr", "artnr", "articlenumber", "itemnumber", "produktnummer", "productid", "produktid", "itemid", "productkey", "productcode", "id", "mpn", "article"}},
}

type fieldName struct {
	field string
	names []string
}

func namesOf(field string) []string {
	return fieldNames[slices.IndexFunc(fieldNames, func(f fieldName) bool { return f.field == field })].names
}

// guesser creates a mapping from a sample.
type guesser struct {
	*sample
	file        string
	label       string
	prices      []string       // columns that look like prices, if none has the name of one; two or more: a column for each shop
	wide        []string       // columns that each hold the prices of one site
	hosts       bool           // sites are the hosts of the addresses, because no column names them
	origin      string         // where the capture time comes from if no column has it
	columns     map[string]int // of each field
	assumptions []string
	text        bytes.Buffer
}

func (g *guesser) assume(format string, args ...any) {
	g.assumptions = append(g.assumptions, fmt.Sprintf(format, args...))
}

// folded returns a text in lower case, without accents, and with ss for ß.
func folded(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "ß", "ss")
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// plainName returns a column's name for comparison: folded, letters and digits
// only, without text in brackets and without a currency at its end.
func plainName(s string) string {
	if i := strings.IndexAny(s, "(["); i > 0 {
		s = s[:i]
	}
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, folded(s))
	for _, code := range []string{"ineur", "eur", "usd", "gbp", "chf"} {
		if short, ok := strings.CutSuffix(s, code); ok && short != "" {
			return short
		}
	}
	return s
}

// findColumns finds the column of each field: by its name, if the values in it
// fit the field, or otherwise, for fields that every row needs, by its values.
func (g *guesser) findColumns() {
	names := make([]string, len(g.header))
	for i, h := range g.header {
		names[i] = plainName(h)
	}
	taken := map[int]bool{}
	for i, h := range g.header { // a mapping cannot name these
		taken[i] = h == "" || slices.Index(g.header, h) != i || slices.Index(g.header[i+1:], h) >= 0
	}
	if g.wide != nil {
		for field, name := range map[string]string{"site": wideName, "price": wideValue} {
			g.columns[field] = slices.Index(g.header, name)
			taken[g.columns[field]] = true
		}
		for _, name := range g.wide {
			taken[slices.Index(g.header, name)] = true
		}
	}
	for _, f := range fieldNames {
		if g.has(f.field) {
			continue
		}
		for _, name := range f.names {
			i := slices.Index(names, name)
			if i < 0 || taken[i] || slices.Index(names[i+1:], name) >= 0 || !g.fits(f.field, i) {
				continue
			}
			g.columns[f.field], taken[i] = i, true
			break
		}
	}
	if !g.has("site") && share(g.of("merchant"), isDomain) >= 0.9 {
		g.columns["site"] = g.columns["merchant"]
		delete(g.columns, "merchant")
		g.assume("column %q has domains: assuming that each is a site (columns.site; columns.merchant, if all sell at one site)", g.name("site"))
	}
	g.hosts = !g.has("site") && share(g.of("url"), func(s string) bool { return hostOf(s) != s && isDomain(hostOf(s)) }) >= 0.9
	if !g.has("price") {
		for i := range g.header {
			if !taken[i] && g.looksLike("price", i) {
				g.prices = append(g.prices, g.header[i])
			}
		}
	}
	for _, field := range []string{"ean", "capturedAt", "price"} {
		if g.has(field) {
			continue
		}
		for i := range g.header {
			if !taken[i] && g.looksLike(field, i) {
				g.columns[field], taken[i] = i, true
				g.assume("column %q looks like %s by its values (columns.%s)", g.header[i], field, field)
				break
			}
		}
	}
	clock, clocked := g.columns["clock"]
	form := formOf(g.of("capturedAt"))
	switch dated := g.has("capturedAt"); {
	case !clocked, form != nil && form.day:
	case !dated && share(g.of("clock"), isClock) == 1: // the day comes from elsewhere
	default:
		if !dated && formOf(g.of("clock")) != nil { // "time" may hold day and time
			g.columns["capturedAt"] = clock
		}
		delete(g.columns, "clock")
	}
}

// otherPrices are the names of columns with prices that are not a shop's,
// folded.
var otherPrices = []string{"uvp", "rrp", "msrp", "listprice", "listenpreis", "oldprice", "altpreis", "streichpreis", "ek", "einkaufspreis", "cost", "net", "netto", "gross", "brutto"}

// unpivot treats several columns that look like prices as one per site, if none
// has the name of a price and nothing else shows which site or merchant a row
// belongs to.
func (g *guesser) unpivot() error {
	names := g.prices
	if len(names) < 2 || g.has("site") || g.has("merchant") || g.has("url") ||
		slices.ContainsFunc(names, func(name string) bool { return slices.Contains(otherPrices, plainName(name)) }) {
		return nil
	}
	s, err := g.unpivoted(names)
	if err != nil {
		return err
	}
	g.sample, g.wide, g.prices, g.columns, g.assumptions = s, names, nil, map[string]int{}, nil
	g.assume("the columns %q all look like prices: assuming that each is a site, and that a blank field says nothing about it (csv.unpivot, and sites for their names and facts)", names)
	g.findColumns()
	return nil
}

// ofOffers are the fields without which a guess would read something else than the
// file says; the others only describe.
var ofOffers = []string{"ean", "pzn", "asin", "site", "price", "shipping", "currency", "capturedAt", "clock", "availability", "merchant", "productKey"}

// doubled refuses a file in which several columns have the name of a field, because
// none of them was taken for it. Of a field that only describes, it is reported.
func (g *guesser) doubled() error {
	for _, f := range fieldNames {
		if g.has(f.field) && (g.wide != nil || slices.Contains(f.names, plainName(g.name(f.field)))) {
			continue
		}
		for _, name := range f.names {
			same := slices.DeleteFunc(slices.Clone(g.header), func(h string) bool { return plainName(h) != name })
			switch {
			case len(same) < 2:
			case slices.Contains(ofOffers, f.field):
				return fault.New(fault.Invalid, "", "the header has %d columns called %q that could be the %s: rename all but one of them", len(same), same, f.field)
			default:
				g.assume("the header has %d columns called %q: none is used; rename all but one of them to have it as the %s", len(same), same, f.field)
			}
		}
	}
	return nil
}

// fits reports whether the values of a column can belong to the field.
func (g *guesser) fits(field string, column int) bool {
	texts := g.texts(column)
	switch field {
	case "price", "shipping":
		return len(texts) == 0 || amountShare(texts, isAmount) >= 0.5
	case "capturedAt":
		return formOf(texts) != nil
	case "ean":
		return len(texts) == 0 || share(texts, func(s string) bool { return len(s) >= 8 && len(s) <= 14 && isDigits(s) }) >= 0.5
	case "clock":
		return len(texts) > 0
	case "availability", "isBuyBox", "isPrime":
		yes, no, other := g.sides(field, column, texts)
		return len(yes)+len(no) >= len(other)
	}
	return true
}

// looksLike reports whether a column whose name gives no hint belongs to the
// field.
func (g *guesser) looksLike(field string, column int) bool {
	texts := g.texts(column)
	switch field {
	case "ean":
		return share(texts, func(s string) bool {
			_, class := classifyEAN(s, false)
			return len(s) >= 12 && class == eanValid
		}) >= 0.9
	case "capturedAt":
		f := formOf(texts)
		return f != nil && !f.number
	}
	return amountShare(texts, func(s string) bool { return isAmount(s) && strings.ContainsAny(s, ".,€$£") && !isDigits(s) }) >= 0.9
}

// isDomain reports whether s is a DNS domain, like shop.example.
func isDomain(s string) bool {
	at := strings.LastIndexByte(s, '.')
	return at > 0 && len(s)-at > 2 && strings.IndexFunc(s[at+1:], unicode.IsDigit) < 0 && contracts.SiteKey(siteKey(s)).Valid()
}

// isClock reports whether s is a time of day.
func isClock(s string) bool {
	for _, form := range []string{"15:04", "15:04:05", "15:04 Uhr", "15:04:05 Uhr"} {
		if _, err := time.Parse(form, s); err == nil {
			return true
		}
	}
	return false
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
