package maps

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// countryDefaults is what a country's domain implies about its sites.
type countryDefaults struct{ country, currency, zone string }

var defaultsByDomain = map[string]countryDefaults{
	"de": {"DE", "EUR", "Europe/Berlin"}, "at": {"AT", "EUR", "Europe/Vienna"}, "ch": {"CH", "CHF", "Europe/Zurich"},
	"fr": {"FR", "EUR", "Europe/Paris"}, "it": {"IT", "EUR", "Europe/Rome"}, "es": {"ES", "EUR", "Europe/Madrid"},
	"nl": {"NL", "EUR", "Europe/Amsterdam"}, "be": {"BE", "EUR", "Europe/Brussels"}, "pl": {"PL", "PLN", "Europe/Warsaw"},
	"cz": {"CZ", "CZK", "Europe/Prague"}, "se": {"SE", "SEK", "Europe/Stockholm"}, "dk": {"DK", "DKK", "Europe/Copenhagen"},
	"uk": {"GB", "GBP", "Europe/London"}, "jp": {"JP", "JPY", "Asia/Tokyo"}, "kw": {"KW", "KWD", "Asia/Kuwait"},
}

var placeOfCurrency = map[string]string{"CHF": "ch", "PLN": "pl", "CZK": "cz", "SEK": "se", "DKK": "dk", "GBP": "uk", "JPY": "jp"}

// write writes the mapping.
func (g *guesser) write() ([]byte, error) {
	if err := g.lacks(); err != nil {
		return nil, err
	}
	price, shipping := amountsOf(g.of("price")), amountsOf(g.of("shipping"))
	sites, where, known := g.sitesOf()
	currency := price.currency()
	if currency == "" {
		for code := range strings.FieldsFuncSeq(strings.ToUpper(g.name("price")), func(r rune) bool { return r < 'A' || r > 'Z' }) {
			if len(code) == 3 && contracts.Currency(code).Valid() {
				currency = code
			}
		}
	}
	currency = cmp.Or(currency, shipping.currency())
	if !known {
		switch p, ok := defaultsByDomain[placeOfCurrency[currency]]; {
		case ok:
			where = p
		case currency == "USD":
			where = countryDefaults{"US", "USD", "UTC"}
		case price.decimal == "," || currency == "EUR":
			where = defaultsByDomain["de"]
		default:
			where = countryDefaults{"DE", "EUR", "UTC"}
		}
		g.assume("nothing names the country: assuming %s (defaultSite.country)", where.country)
	}
	if currency == "" && !g.has("currency") {
		g.assume("no currency in the file: assuming %s (defaultSite.currency)", where.currency)
	}
	currency = cmp.Or(currency, where.currency)
	if !g.has("currency") {
		g.refuseOthers(&price, "price", currency)
		g.refuseOthers(&shipping, "shipping", currency)
	}

	g.put("# Made by `preismon import` from what the file looks like; `preismon import --example-map` explains every key.\n\n")
	g.put("source: %s # part of the identity of every product: keep it\n\n", scalar(ofMandate+"/"+cut(g.label, 64-len(ofMandate)-1)))
	g.put("csv:\n  encoding: %s\n  delimiter: %s\n", g.encoding, map[bool]string{true: "tab", false: scalar(g.delimiter)}[g.delimiter == "\t"])
	if g.encoding == windowsText {
		g.assume("the text is not UTF-8: it is read as Windows-1252 (csv.encoding)")
	}
	if g.skip > 0 {
		g.put("  skip: %d\n", g.skip)
		g.assume("the header is assumed to be in line %d: what stands above it is left out (csv.skip)", g.skip+1)
	}
	if g.wide != nil {
		g.put("  unpivot: [%s]\n", list(g.wide))
	}
	if g.lazy {
		g.put("  lazyQuotes: true\n")
		g.assume("there are quotation marks inside fields: they are kept as they are (csv.lazyQuotes)")
	}
	g.put("\ncolumns:\n")
	if g.has("site") {
		g.put("  site: %s\n", scalar(g.name("site")))
	} else if g.hosts {
		g.put("  site: {column: %s, host: true}\n", scalar(g.name("url")))
		g.assume("no column names the site: assuming the host of the URL in column %q (columns.site)", g.name("url"))
	} else {
		key := cmp.Or(slug(g.label), "my-shop")
		g.put("  site: {value: %s}\n", scalar(ofMandate+"_"+key))
		g.assume("no column names the site: assuming one site for all rows, named after the mandate and the file, %q (columns.site.value)", ofMandate+"_"+key)
	}
	for _, field := range []string{"productKey", "ean", "asin", "name", "brand", "manufacturer", "merchant", "rating", "url", "deliveryText"} {
		if g.has(field) {
			g.put("  %s: %s\n", field, scalar(g.name(field)))
		}
	}
	if g.has("pzn") {
		g.put("  pzn: {column: %s, pad: 8}\n", scalar(g.name("pzn")))
	}
	g.writeLocale(where)
	g.writeTime(where)
	g.settleAmounts(&price, "price", g.digitsOf(currency))
	g.settleAmounts(&shipping, "shipping", g.digitsOf(currency))
	g.assumeWords(&price, "price")
	g.assumeWords(&shipping, "shipping")
	missing := ""
	none := wordsOf(distinct(g.of("price")), noAmount)
	if !g.has("availability") && (g.blank("price") || len(none) > 0) {
		missing = ", missing: unavailable"
		g.assume("assuming that a row without a price is unavailable (columns.price.missing)")
	}
	g.put("  price: {column: %s%s%s%s}\n", scalar(g.name("price")), amountOptions(price), wordOption("blank", none), missing)
	if g.has("shipping") {
		values := distinct(g.of("shipping"))
		g.put("  shipping: {column: %s%s%s%s}\n", scalar(g.name("shipping")), amountOptions(shipping),
			wordOption("zero", wordsOf(values, nothingToPay)), wordOption("blank", wordsOf(values, noAmount)))
	}
	if g.has("currency") {
		if g.unnamedCurrency() {
			g.assume("rows without a currency in column %q: assuming %s (columns.currency.value)", g.name("currency"), currency)
		}
		g.put("  currency: {column: %s, values: {\"€\": EUR, \"$\": USD, \"£\": GBP}}\n", scalar(g.name("currency")))
	}
	g.writeFlags()
	if len(sites) > 0 {
		g.put("\nsites:\n")
		used := map[string]bool{}
		for i, s := range sites {
			key := slug(s)
			if key == "" || used[key] {
				key = "site-" + strconv.Itoa(i+1)
			}
			used[key] = true
			g.put("  %s: {site: %s}\n", scalar(s), scalar(key))
		}
		g.assume("site names that are not valid keys, such as %q, were given keys (sites); such a site later in the file needs a line there", sites[0])
	}
	kind := "shop"
	if g.has("isBuyBox") && g.has("merchant") {
		kind = "marketplace"
	}
	g.put("\ndefaultSite: {type: %s, country: %s, currency: %s}\n", kind, where.country, currency)
	return g.text.Bytes(), nil
}

// lacks returns an error that names what every mapping needs and cannot be
// found, and how to specify it.
func (g *guesser) lacks() error {
	var f contracts.Faults
	if len(g.prices) > 1 {
		return fault.New(fault.Invalid, "", "the columns %q all look like prices, and not each of a shop: write a mapping that says which of them is the price (--map)", g.prices)
	}
	if err := g.doubled(); err != nil {
		return err
	}
	f.Check(g.has("price"), "no column looks like prices (columns.price)")
	if !g.has("capturedAt") {
		g.origin = originOf(g.file, g.has("clock"))
		f.Check(g.origin != "", "no column looks like the time of a capture (columns.capturedAt), and the file's name and time tell none")
	}
	if !g.has("productKey") && !g.has("ean") && !g.has("pzn") && !g.has("asin") {
		if g.has("name") {
			g.columns["productKey"] = g.columns["name"]
			g.assume("no column has a product number: products are identified by their name %q (columns.productKey)", g.name("name"))
		} else {
			f.Addf("no column says which product a row is about (columns.productKey, ean, pzn or asin)")
		}
	}
	if err := f.Err(); err != nil {
		return fault.New(fault.Invalid, "", "%s; the columns are %q: write a mapping and give it by --map (--example-map explains one)", strings.ReplaceAll(err.Error(), "\n", "; "), g.header)
	}
	return g.unreadTime()
}

func (g *guesser) has(field string) bool { _, ok := g.columns[field]; return ok }

// name returns the name of a field's column.
func (g *guesser) name(field string) string { return g.header[g.columns[field]] }

// of returns what the rows have in a field.
func (g *guesser) of(field string) []string {
	if !g.has(field) {
		return nil
	}
	return g.texts(g.columns[field])
}

func (g *guesser) put(format string, args ...any) { fmt.Fprintf(&g.text, format, args...) }

// blank reports whether any row has nothing in the field.
func (g *guesser) blank(field string) bool {
	return slices.ContainsFunc(g.rows, func(row []string) bool {
		return strings.TrimSpace(row[g.columns[field]]) == ""
	})
}

// sitesOf returns the names of sites that cannot be keys unchanged, and the
// country of most of the sites, if their domains show it.
func (g *guesser) sitesOf() (odd []string, where countryDefaults, known bool) {
	values := distinct(g.of("site"))
	if g.hosts {
		for _, address := range distinct(g.of("url")) {
			values = append(values, hostOf(address))
		}
	}
	counts := map[string]int{}
	for _, s := range values {
		if key := contracts.SiteKey(siteKey(s)); !key.Valid() {
			odd = append(odd, s)
		}
		counts[strings.ToLower(s[strings.LastIndexByte(s, '.')+1:])]++
	}
	best := 0
	for _, domain := range slices.Sorted(maps.Keys(counts)) {
		if p, ok := defaultsByDomain[domain]; ok && counts[domain] > best {
			best, where, known = counts[domain], p, true
		}
	}
	return odd, where, known
}

func (g *guesser) writeLocale(where countryDefaults) {
	if !g.has("asin") {
		return
	}
	if g.has("asinLocale") {
		g.put("  asinLocale: %s\n", scalar(g.name("asinLocale")))
		return
	}
	locale := cmp.Or(map[string]string{"GB": "co.uk"}[where.country], strings.ToLower(where.country))
	g.put("  asinLocale: {value: %s}\n", scalar(locale))
	g.assume("assuming that ASINs are those of %q (columns.asinLocale)", locale)
}

// wordOption returns an option with a list of words; empty if there are none.
func wordOption(name string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ", " + name + ": [" + list(words) + "]"
}

func amountOptions(f amountForm) string {
	s := ""
	if f.decimal != "." {
		s += ", decimal: " + scalar(f.decimal)
	}
	if f.thousands != "" {
		s += ", thousands: " + scalar(f.thousands)
	}
	return s + wordOption("strip", slices.Concat(f.strip, f.dashes))
}

// scalar returns a text in a form that YAML accepts: JSON's form is always
// valid.
func scalar(s string) string { return strconv.Quote(s) }

func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = scalar(s)
	}
	return strings.Join(quoted, ", ")
}
