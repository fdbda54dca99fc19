package maps

import (
	"bytes"
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
	price, shipping := amountsOf(g.of("price")), amountForm{}
	_, hasShipping := g.columns["shipping"]
	if hasShipping {
		shipping = amountsOf(g.of("shipping"))
	}
	sites, where, known := g.sitesOf()
	currency := price.currency()
	if name := g.header[g.columns["price"]]; currency == "" {
		for code := range strings.FieldsFuncSeq(strings.ToUpper(name), func(r rune) bool { return r < 'A' || r > 'Z' }) {
			if len(code) == 3 && contracts.Currency(code).Valid() {
				currency = code
			}
		}
	}
	currency = cmp.Or(currency, shipping.currency())
	_, hasCurrency := g.columns["currency"]
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
	if currency == "" && !hasCurrency {
		g.assume("no currency in the file: assuming %s (defaultSite.currency)", where.currency)
	}
	currency = cmp.Or(currency, where.currency)
	if !hasCurrency {
		g.refuseOthers(&price, "price", currency)
		g.refuseOthers(&shipping, "shipping", currency)
	}

	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by `preismon import` from what the file looks like; `preismon import --example-map` explains every key.\n\n")
	fmt.Fprintf(&b, "source: %s # part of the identity of every product: keep it\n\n", scalar(ofMandate+"/"+cut(g.label, 64-len(ofMandate)-1)))
	fmt.Fprintf(&b, "csv:\n  encoding: %s\n  delimiter: %s\n", g.encoding, map[bool]string{true: "tab", false: scalar(g.delimiter)}[g.delimiter == "\t"])
	if g.encoding == windowsText {
		g.assume("the text is not UTF-8: it is read as Windows-1252 (csv.encoding)")
	}
	if g.skip > 0 {
		fmt.Fprintf(&b, "  skip: %d\n", g.skip)
		g.assume("the header is assumed to be in line %d: what stands above it is left out (csv.skip)", g.skip+1)
	}
	if g.wide != nil {
		fmt.Fprintf(&b, "  unpivot: [%s]\n", list(g.wide))
	}
	if g.lazy {
		fmt.Fprintf(&b, "  lazyQuotes: true\n")
		g.assume("there are quotation marks inside fields: they are kept as they are (csv.lazyQuotes)")
	}
	fmt.Fprintf(&b, "\ncolumns:\n")
	if column, ok := g.columns["site"]; ok {
		fmt.Fprintf(&b, "  site: %s\n", scalar(g.header[column]))
	} else if g.hosts {
		address := g.header[g.columns["url"]]
		fmt.Fprintf(&b, "  site: {column: %s, host: true}\n", scalar(address))
		g.assume("no column names the site: assuming the host of the URL in column %q (columns.site)", address)
	} else {
		key := cmp.Or(slug(g.label), "my-shop")
		fmt.Fprintf(&b, "  site: {value: %s}\n", scalar(ofMandate+"_"+key))
		g.assume("no column names the site: assuming one site for all rows, named after the mandate and the file, %q (columns.site.value)", ofMandate+"_"+key)
	}
	for _, field := range []string{"productKey", "ean", "asin", "name", "brand", "manufacturer", "merchant", "rating", "url", "deliveryText"} {
		if column, ok := g.columns[field]; ok {
			fmt.Fprintf(&b, "  %s: %s\n", field, scalar(g.header[column]))
		}
	}
	if column, ok := g.columns["pzn"]; ok {
		fmt.Fprintf(&b, "  pzn: {column: %s, pad: 8}\n", scalar(g.header[column]))
	}
	g.writeLocale(&b, where)
	g.writeTime(&b, where)
	g.settleAmounts(&price, "price", g.digitsOf(currency))
	g.settleAmounts(&shipping, "shipping", g.digitsOf(currency))
	g.assumeWords(&price, "price")
	g.assumeWords(&shipping, "shipping")
	missing := ""
	none := wordsOf(distinct(g.of("price")), noAmount)
	if _, ok := g.columns["availability"]; !ok && (g.blank("price") || len(none) > 0) {
		missing = ", missing: unavailable"
		g.assume("assuming that a row without a price is unavailable (columns.price.missing)")
	}
	fmt.Fprintf(&b, "  price: {column: %s%s%s%s}\n", scalar(g.header[g.columns["price"]]), amountOptions(price), wordOption("blank", none), missing)
	if hasShipping {
		values := distinct(g.of("shipping"))
		fmt.Fprintf(&b, "  shipping: {column: %s%s%s%s}\n", scalar(g.header[g.columns["shipping"]]), amountOptions(shipping),
			wordOption("zero", wordsOf(values, nothingToPay)), wordOption("blank", wordsOf(values, noAmount)))
	}
	if hasCurrency {
		if g.unnamedCurrency() {
			g.assume("rows without a currency in column %q: assuming %s (columns.currency.value)", g.header[g.columns["currency"]], currency)
		}
		fmt.Fprintf(&b, "  currency: {column: %s, values: {\"€\": EUR, \"$\": USD, \"£\": GBP}}\n", scalar(g.header[g.columns["currency"]]))
	}
	g.writeFlags(&b)
	if len(sites) > 0 {
		fmt.Fprintf(&b, "\nsites:\n")
		used := map[string]bool{}
		for i, s := range sites {
			key := slug(s)
			if key == "" || used[key] {
				key = "site-" + strconv.Itoa(i+1)
			}
			used[key] = true
			fmt.Fprintf(&b, "  %s: {site: %s}\n", scalar(s), scalar(key))
		}
		g.assume("site names that are not valid keys, such as %q, were given keys (sites); such a site later in the file needs a line there", sites[0])
	}
	kind := "shop"
	_, merchants := g.columns["merchant"]
	if _, boxes := g.columns["isBuyBox"]; boxes && merchants {
		kind = "marketplace"
	}
	fmt.Fprintf(&b, "\ndefaultSite: {type: %s, country: %s, currency: %s}\n", kind, where.country, currency)
	return b.Bytes(), nil
}

// lacks returns an error that names what every mapping needs and cannot be
// found, and how to specify it.
func (g *guesser) lacks() error {
	var f contracts.Faults
	has := func(field string) bool { _, ok := g.columns[field]; return ok }
	if len(g.prices) > 1 {
		names := make([]string, len(g.prices))
		for i, column := range g.prices {
			names[i] = g.header[column]
		}
		return fault.New(fault.Invalid, "", "the columns %q all look like prices, and not each of a shop: write a mapping that says which of them is the price (--map)", names)
	}
	if err := g.doubled(); err != nil {
		return err
	}
	f.Check(has("price"), "no column looks like prices (columns.price)")
	if !has("capturedAt") {
		g.origin = originOf(g.file, has("clock"))
		f.Check(g.origin != "", "no column looks like the time of a capture (columns.capturedAt), and the file's name and time tell none")
	}
	if !has("productKey") && !has("ean") && !has("pzn") && !has("asin") {
		if name, ok := g.columns["name"]; ok {
			g.columns["productKey"] = name
			g.assume("no column has a product number: products are identified by their name %q (columns.productKey)", g.header[name])
		} else {
			f.Addf("no column says which product a row is about (columns.productKey, ean, pzn or asin)")
		}
	}
	if err := f.Err(); err != nil {
		return fault.New(fault.Invalid, "", "%s; the columns are %q: write a mapping and give it by --map (--example-map explains one)", strings.ReplaceAll(err.Error(), "\n", "; "), g.header)
	}
	return g.unreadTime()
}

func (g *guesser) of(field string) []string { return g.texts(g.columns[field]) }

// blank reports whether any row has nothing in the field.
func (g *guesser) blank(field string) bool {
	return slices.ContainsFunc(g.rows, func(row []string) bool {
		return strings.TrimSpace(row[g.columns[field]]) == ""
	})
}

// sitesOf returns the names of sites that cannot be keys unchanged, and the
// country of most of the sites, if their domains show it.
func (g *guesser) sitesOf() (odd []string, where countryDefaults, known bool) {
	var values []string
	if column, ok := g.columns["site"]; ok {
		values = g.values(column)
	} else if g.hosts {
		for _, address := range distinct(g.of("url")) {
			values = append(values, hostOf(address))
		}
	}
	counts := map[string]int{}
	for _, s := range values {
		if key := contracts.SiteKey(siteKey(s)); !key.Valid() {
			odd = append(odd, s)
		}
		domain := strings.ToLower(s[strings.LastIndexByte(s, '.')+1:])
		counts[domain]++
	}
	best := 0
	for _, domain := range slices.Sorted(maps.Keys(counts)) {
		if p, ok := defaultsByDomain[domain]; ok && counts[domain] > best {
			best, where, known = counts[domain], p, true
		}
	}
	return odd, where, known
}

func (g *guesser) writeLocale(b *bytes.Buffer, where countryDefaults) {
	if _, ok := g.columns["asin"]; !ok {
		return
	}
	if column, ok := g.columns["asinLocale"]; ok {
		fmt.Fprintf(b, "  asinLocale: %s\n", scalar(g.header[column]))
		return
	}
	locale := map[string]string{"GB": "co.uk"}[where.country]
	locale = cmp.Or(locale, strings.ToLower(where.country))
	fmt.Fprintf(b, "  asinLocale: {value: %s}\n", scalar(locale))
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
