package maps_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

var guessNow = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// guessCases are files as people have them.
var guessCases = []struct {
	name, text  string
	encode      func(string) (string, error)
	first       maps.Shown
	mapping     []string // parts of its text
	assumptions []string // parts of sentences, one for each assumption
	rejected    int      // rows
}{
	{
		name: "german.csv", text: "Händler;Artikelnummer;EAN;Bezeichnung;Datum;Uhrzeit;Preis (EUR);Versandkosten;Lieferbar\n" +
			"Müller & Söhne;A-1;4006381333931;Stift, blau;01.10.2026;09:00;1.234,50 €;4,90 €;ja\n" +
			"Müller & Söhne;A-2;;Heft;02.10.2026;9:05;0,99 €;;nein\n",
		first:       maps.Shown{Line: 2, Site: "german", Product: "Stift, blau", CapturedAt: "2026-10-01T07:00:00Z", Price: "1234.50", Currency: "EUR", Outcome: "available", Merchant: "Müller & Söhne"},
		mapping:     []string{`clock: "Uhrzeit"`, `layouts: ["2.1.2006 15:04"]`, "zone: Europe/Berlin", `decimal: ",", thousands: ".", strip: ["€"]`},
		assumptions: []string{"nothing names the country", "no column names the site", "have no zone"},
	},
	{
		name: "clocks.csv", text: "Shop;EAN;Preis;Datum;Uhrzeit\nladen.de;4006381333931;1,20;24.11.2026;08:15\nladen.de;4006381333931;1,30;25.11.2026;25:16\n" +
			"laden.de;4006381333931;1,40;26.11.2026;\n",
		first:       maps.Shown{Line: 2, Site: "laden.de", Product: "4006381333931", CapturedAt: "2026-11-24T07:15:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`clock: "Uhrzeit"`, `layouts: ["2.1.2006 15:04", "2.1.2006"]`},
		assumptions: []string{"no currency", "have no zone", "several forms", "assuming noon"},
		rejected:    1, // 25:16
	},
	{
		name: "scraped.csv", text: "product,url,price,stock,scraped\nKettle,https://www.A.example/kettle?x=1,$29.99,In Stock,\"Nov 24, 2026 8:15 AM\"\n" +
			"Toaster,https://b.example/toaster,N/A,Out of Stock,\"Nov 24, 2026 8:16 PM\"\nMixer,https://a.example/mixer,-,Out of Stock,\"Nov 24, 2026 8:17 PM\"\n",
		first:       maps.Shown{Line: 2, Site: "a.example", Product: "Kettle", CapturedAt: "2026-11-24T08:15:00Z", Price: "29.99", Currency: "USD", Outcome: "available"},
		mapping:     []string{`site: {column: "url", host: true}`, `strip: ["$"], blank: ["N/A", "-"]`, `layouts: ["Jan 2, 2006 3:04 PM"]`},
		assumptions: []string{"identified by their name", "nothing names the country", "assuming the host of the URL", "have no zone"},
	},
	{
		name: "mixed.csv", text: "product,url,price,shipping,seen\nToaster,https://b.com/t,$19.99,,2026-10-01T09:00:00Z\n" +
			"Kettle,https://a.de/k,€29.99,4.90 €*,2026-10-01T09:00:00Z\nMixer,https://a.de/m,from 9.99 eur,$5,2026-10-01T09:00:00Z\nLamp,https://a.de/l,8.99,,2026-10-01T09:00:00Z\n",
		first:       maps.Shown{Line: 3, Site: "a.de", Product: "Kettle", CapturedAt: "2026-10-01T09:00:00Z", Price: "29.99", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`price: {column: "price", strip: ["€", "from", "eur"]}`, `shipping: {column: "shipping", strip: ["€*"]}`, "currency: EUR"},
		assumptions: []string{"identified by their name", "assuming the host of the URL", `"from" beside amounts in column "price" is left out`, `amounts with ["$"] in column "price" are rejected`, `amounts with ["$"] in column "shipping" are rejected`},
		rejected:    2, // what is in dollars
	},
	{
		name: "crowns.csv", text: "product,url,price,seen\nKettle,https://a.de/k,29.99 €,2026-10-01T09:00:00Z\nMixer,https://a.de/m,ab 19.99€,2026-10-01T09:00:00Z\n" +
			"Lamp,https://b.se/l,349 kr,2026-10-01T09:00:00Z\nCup,https://a.de/c,R$ 49.90,2026-10-01T09:00:00Z\nJug,https://a.de/j,₡4990,2026-10-01T09:00:00Z\nPan,https://a.de/p,4990 HUF*,2026-10-01T09:00:00Z\n",
		first:       maps.Shown{Line: 2, Site: "a.de", Product: "Kettle", CapturedAt: "2026-10-01T09:00:00Z", Price: "29.99", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`strip: ["€", "ab"]`, "currency: EUR"},
		assumptions: []string{"identified by their name", "assuming the host of the URL", `"ab" beside amounts`, `amounts with ["kr" "R$" "₡" "HUF*"] in column "price" are rejected`},
		rejected:    4,
	},
	{
		name: "kronor.csv", text: "product,url,price,seen\nLamp,https://b.se/l,349 kr,2026-10-01T09:00:00Z\nMixer,https://b.se/m,99 SEK,2026-10-01T09:00:00Z\n",
		first:       maps.Shown{Line: 2, Site: "b.se", Product: "Lamp", CapturedAt: "2026-10-01T09:00:00Z", Price: "349.00", Currency: "SEK", Outcome: "available"},
		mapping:     []string{`strip: ["kr", "SEK"]`, "currency: SEK"},
		assumptions: []string{"identified by their name", "assuming the host of the URL"},
	},
	{
		name: "wide.csv", text: "Artikel;EAN;Datum;Amazon;Otto\nStift;4006381333931;24.11.2026 08:15;1,20;1,30\nTasse;4006381333948;24.11.2026 08:15;;5,20 €\nTeller;4006381333955;24.11.2026 08:15;k. A.;4,00\n",
		first:       maps.Shown{Line: 2, Site: "amazon", Product: "Stift", CapturedAt: "2026-11-24T07:15:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`unpivot: ["Amazon", "Otto"]`, `site: "(column)"`, `price: {column: "(value)", decimal: ",", strip: ["€"], blank: ["k. A."], missing: unavailable}`},
		assumptions: []string{"assuming that each is a site", "nothing names the country", "have no zone", "without a price is unavailable"},
	},
	{
		name: "noon.csv", text: "shop,sku,price,date,time\nshop.example,A,1.20,11/24/2026,8:15 AM\nshop.example,B,1.30,11/24/2026,1:05 PM\n",
		first:       maps.Shown{Line: 2, Site: "shop.example", Product: "A", CapturedAt: "2026-11-24T08:15:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`clock: "time"`, `layouts: ["1/2/2006 3:04 PM"]`},
		assumptions: []string{"nothing names the country", "no currency", "have no zone"},
	},
	{
		name: "windows.csv", text: "Shop;Art.-Nr.;Größe;Verfügbarkeit;Preis;Datum\nladen.at;7;groß;auf Lager;3,50 €;2026-10-01 08:00\nladen.at;8;klein;ausverkauft;;2026-10-01 08:00\n",
		encode:      charmap.Windows1252.NewEncoder().String,
		first:       maps.Shown{Line: 2, Site: "laden.at", Product: "7", CapturedAt: "2026-10-01T06:00:00Z", Price: "3.50", Currency: "EUR", Outcome: "available"},
		mapping:     []string{"encoding: windows-1252", "zone: Europe/Vienna", `yes: ["auf Lager"], no: ["ausverkauft"]`, "country: AT"},
		assumptions: []string{"is read as Windows-1252", "have no zone"},
	},
	{
		name: "cut.csv", text: "Shop;Art.-Nr.;Name;Verfügbarkeit;Preis;Datum\nladen.at;7;Fußmatte gr\xc3;auf Lager;3,50 €;2026-10-01 08:00\nladen.at;8;Tür;ausverkauft;;2026-10-01 08:00\n",
		first:       maps.Shown{Line: 3, Site: "laden.at", Product: "Tür", CapturedAt: "2026-10-01T06:00:00Z", Outcome: "unavailable"},
		mapping:     []string{"encoding: utf-8", `yes: ["auf Lager"], no: ["ausverkauft"]`, `strip: ["€"]`},
		assumptions: []string{"have no zone"},
		rejected:    1,
	},
	{
		name: "excel.txt", text: "site\tsku\tprice\tcapturedAt\nshop.example\tA\t$1,234.50\t2026-10-01T08:00:00Z\nshop.example\tB\t$9.99\t2026-10-01T08:00:00Z\n",
		encode:      unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String,
		first:       maps.Shown{Line: 2, Site: "shop.example", Product: "A", CapturedAt: "2026-10-01T08:00:00Z", Price: "1234.50", Currency: "USD", Outcome: "available"},
		mapping:     []string{"encoding: utf-16", "delimiter: tab", `thousands: ",", strip: ["$"]`, "currency: USD"},
		assumptions: []string{"nothing names the country"},
	},
	{
		name: "export.csv", text: "Datum;Händler;Artikel-Nr.;Artikelbezeichnung;Verkaufspreis;Versand;Verfügbarkeit\r\n" +
			"24.11.2026 08:15;Elektro Müller;4711;Kaffeemühle \"Größe L\";1.299,00 €;4,90 €;sofort lieferbar\r\n" +
			"24.11.2026 08:15;Haushalt Süd;A-9;Kaffeemühle;1.249,50 €;kostenlos;nicht lieferbar\r\n",
		encode:      charmap.Windows1252.NewEncoder().String,
		first:       maps.Shown{Line: 2, Site: "export", Product: "Kaffeemühle \"Größe L\"", CapturedAt: "2026-11-24T07:15:00Z", Price: "1299.00", Currency: "EUR", Outcome: "available", Merchant: "Elektro Müller"},
		mapping:     []string{"lazyQuotes: true", `strip: ["€"], zero: ["kostenlos"]`},
		assumptions: []string{"is read as Windows-1252", "quotation marks inside fields", "nothing names the country", "no column names the site", "have no zone"},
	},
	{
		name: "domains.csv", text: "Händler;SKU;Preis;Datum;Verfügbarkeit\nmüller.de;A;1,20;2026-10-01 08:00;auf Lager\nshop.de;A;1,30;2026-10-01 08:00;auf Lager\n",
		first:       maps.Shown{Line: 2, Site: "xn--mller-kva.de", Product: "A", CapturedAt: "2026-10-01T06:00:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`site: "Händler"`, `yes: ["auf Lager"], no: ["no", "n", `, `"nicht verfügbar"`, "country: DE"},
		assumptions: []string{"has domains: assuming that each is a site", "no currency", "have no zone"},
	},
	{
		name: "months.csv", text: "store,gtin,title,date,price,currency\nOne Shop,4006381333931,Pen,03/04/2026,1.20,EUR\nOne Shop,4006381333931,Pen,05/04/2026,,EUR\n",
		first:       maps.Shown{Line: 2, Site: "one-shop", Product: "Pen", CapturedAt: "2026-04-03T12:00:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`"One Shop": {site: "one-shop"}`, "missing: unavailable"},
		assumptions: []string{"nothing names the country", "have no zone", "assuming noon", "may have the month first", "without a price is unavailable", "site names that are not valid keys"},
	},
	{
		name: "unnamed.csv", text: "a,b,c,d\n4006381333931,2026-10-01 09:00:00,1.20,x\n4006381333931,2026-10-02 09:00:00,1.10,y\n",
		first:       maps.Shown{Line: 2, Site: "unnamed", Product: "4006381333931", CapturedAt: "2026-10-01T09:00:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`ean: "a"`, `column: "b"`, `price: {column: "c"}`},
		assumptions: []string{`"a" looks like ean`, `"b" looks like capturedAt`, `"c" looks like price`, "nothing names the country", "no currency", "no column names the site", "have no zone"},
	},
	{
		name: "excel.csv", text: "sep=;\nsite;sku;price;seen_at\nshop.de;A;1,23;2026-10-01T09:00:00Z\nshop.de;B;much;2026-10-01T09:00:00Z\n",
		first:       maps.Shown{Line: 3, Site: "shop.de", Product: "A", CapturedAt: "2026-10-01T09:00:00Z", Price: "1.23", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`delimiter: ";"`},
		assumptions: []string{"no currency"},
		rejected:    1,
	},
	{
		name: "titled.csv", text: "Preisbericht \"November\", Berlin;;;\n\nStand:;24.11.2026;;\nShop;Artikel;Preis;Datum\nladen.de;A;1,20;24.11.2026\nladen.de;B;teuer;24.11.2026\nladen.de;C;1,40;24.11.2026\n",
		first:       maps.Shown{Line: 5, Site: "laden.de", Product: "A", CapturedAt: "2026-11-24T11:00:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`delimiter: ";"`, "skip: 3"},
		assumptions: []string{"assumed to be in line 4", "no currency", "have no zone", "assuming noon", "identified by their name", "quotation marks inside fields"},
		rejected:    1,
	},
	{
		name: "short.csv", text: "Preisbericht\n\nShop;Artikelnummer;Preis;Datum\nladen.de;A;1,20;24.11.2026\n",
		first:       maps.Shown{Line: 4, Site: "laden.de", Product: "A", CapturedAt: "2026-11-24T11:00:00Z", Price: "1.20", Currency: "EUR", Outcome: "available"},
		mapping:     []string{`delimiter: ";"`, "skip: 2"},
		assumptions: []string{"assumed to be in line 3", "no currency", "have no zone", "assuming noon"},
	},
	{
		name: "untimed.csv", text: "site;sku;price;when\nshop.de;A;1,23;1790000000\nshop.de;B;2,50;1790000060\n",
		first:       maps.Shown{Line: 2, Site: "shop.de", Product: "A", CapturedAt: "2026-10-01T09:00:00Z", Price: "1.23", Currency: "EUR", Outcome: "available"},
		mapping:     []string{"from: fileTime"},
		assumptions: []string{"assuming the time of the file", "no currency"},
	},
}

// TestGuessMapping: a file without a mapping is understood, whatever its
// encoding, delimiter, marks and dates; every assumption is named; and an
// import with the guessed mapping rejects exactly as many rows as expected.
func TestGuessMapping(t *testing.T) {
	for _, c := range guessCases {
		t.Run(c.name, func(t *testing.T) {
			text := c.text
			if c.encode != nil {
				text = must.Get(c.encode(text))(t)
			}
			file := filepath.Join(t.TempDir(), c.name)
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			must.Do(t, os.Chtimes(file, seenAt, seenAt))
			g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
			first := slices.IndexFunc(g.Rows, func(r maps.Shown) bool { return r.Reject == "" })
			equals.Check(t, c.first, g.Rows[max(first, 0)])
			for _, want := range c.mapping {
				if !strings.Contains(string(g.Text), want) {
					t.Errorf("no %s in\n%s", want, g.Text)
				}
			}
			for _, want := range c.assumptions {
				if !slices.ContainsFunc(g.Assumptions, func(d string) bool { return strings.Contains(d, want) }) {
					t.Errorf("nothing assumed like %q", want)
				}
			}
			if len(g.Assumptions) != len(c.assumptions) {
				t.Errorf("%d assumptions:\n%s", len(g.Assumptions), strings.Join(g.Assumptions, "\n"))
			}
			sum, err := maps.Check(t.Context(), maps.Request{File: file, Mapping: g.Mapping, Now: func() time.Time { return guessNow }})
			if err != nil || sum.Rejected != c.rejected || sum.Accepted == 0 {
				t.Errorf("imported: %+v %v", sum, err)
			}
		})
	}
}

// TestGuessRefusals: a file that no mapping can be guessed for is refused in
// one sentence.
func TestGuessRefusals(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"prose":  {"Dear Sir or Madam\nhow are you\n", "does not look like a CSV"},
		"empty":  {"\n", "the file is empty"},
		"longer": {"shop;sku;price;date\nshop.de;A;1,20;2026-10-01;\nshop.de;B;1,30;2026-10-01;\n", "the rows have more fields than the header, 5 and not 4"},
		"header": {"site,sku,price,date\n", "a header and no rows"},
		"no key": {"shop,price,date\nshop.de,1.20,2026-10-01\n", "which product a row is about"},
		"prices": {"Artikel;Shop;Amazon;Otto\nStift;x.de;1,20;1,30\nTasse;x.de;5,20;\n", `the columns ["Amazon" "Otto"] all look like prices, and not each of a shop`},
		"list":   {"Artikel;UVP;Aktion\nStift;1,20;1,30\nTasse;5,20;4,80\n", `the columns ["UVP" "Aktion"] all look like prices, and not each of a shop`},
		"week":   {"Shop;Artikelnummer;Preis;Stand\nladen.de;A;1,20;KW 48\nladen.de;B;k. A.;KW 48\n", `column "Stand" is named like a time, but "KW 48" in it is in no known form: give a mapping by --map (--example-map explains one) with columns.capturedAt: {column: "Stand", layouts: ["..."]`},
		"dawn":   {"shop,sku,price,date,time\nshop.de,A,1.20,2026-10-01,dawn\n", `but "dawn" in it is in no known form: give a mapping by --map (--example-map explains one) with columns.capturedAt: {column: "date", clock: "time", layouts`},
		"clock":  {"shop,sku,price,time\nshop.de,A,1.20,08:15\n", `column "time" has times of day, but no column has the day`},
		"twice":  {"Shop,Price,SKU,Price,Name,Date,Name\nshop.de,1.20,A,1.30,Pen,2026-10-01,Pencil\n", `the header has 2 columns called ["Price" "Price"] that could be the price: rename all but one of them`},
		"dates":  {"Shop,Price,SKU,Date,Date\nshop.de,1.20,A,2026-10-01,2026-10-02\n", `["Date" "Date"] that could be the capturedAt`},
		"cases":  {"shop,Price,SKU,Date,Shop\nshop.de,1.20,A,2026-10-01,Laden\n", `["shop" "Shop"] that could be the site`},
		"text":   {"sku,price,date\nA,cheap,2026-10-01\nB,dear,2026-10-01\n", "no column looks like prices"},
	} {
		file := filepath.Join(t.TempDir(), "x.csv")
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		_, err := maps.GuessMapping(file, "", guessNow)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDoubledColumns: a name that stands twice in the header matters only if a column
// of that name is used.
func TestDoubledColumns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.csv")
	must.Do(t, os.WriteFile(file, []byte("shop,price,sku,name,date,name\nshop.de,1.20,A,Pen,2026-10-01,Pencil\n"), 0o600))
	g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
	if all := strings.Join(g.Assumptions, "\n"); g.Rows[0].Price != "1.20" || !strings.Contains(all, `2 columns called ["name" "name"]: none is used`) {
		t.Errorf("%+v\n%s", g.Rows, all)
	}
	for setting, want := range map[string]string{
		"columns:\n  name: name\n":         `the file has the column "name" more than once: rename all but one`,
		"csv:\n  unpivot: [name, price]\n": `csv.unpivot: the file has the column "name" more than once`,
	} {
		block, _, _ := strings.Cut(setting, "\n")
		text := strings.Replace(string(g.Text), block+"\n", setting, 1)
		if _, err := maps.Preview(file, must.Get(maps.ParseMapping([]byte(text)))(t), guessNow); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", block, err)
		}
	}
}

// FuzzGuessMapping: any file is either refused, or its mapping can be used.
func FuzzGuessMapping(f *testing.F) {
	for _, c := range guessCases {
		f.Add([]byte(c.text))
	}
	file := filepath.Join(f.TempDir(), "x.csv")
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(file, text, 0o600))
		g, err := maps.GuessMapping(file, "", guessNow)
		if err != nil {
			if strings.Contains(err.Error(), "mapping:") {
				t.Fatalf("what was written is no mapping: %v", err)
			}
			return
		}
		if _, err := maps.ParseMapping(g.Text); err != nil {
			t.Fatalf("%v\n%s", err, g.Text)
		}
	})
}

// TestAmbiguousDayAndMonth: a date that may begin with either is read with the
// day first, and that is doubted, about the form that is written; one date that
// can only be read in one way settles it.
func TestAmbiguousDayAndMonth(t *testing.T) {
	days := ""
	for d := 1; d <= 12; d++ {
		days += fmt.Sprintf("shop.de,A,1.20,03/%02d/2026\n", d)
	}
	for name, c := range map[string]struct{ text, layouts, assumed string }{
		"clock":    {"site,sku,price,date,time\nshop.de,A,1.20,03/04/2026,3:04 PM\n", `["2/1/2006 3:04 PM"]`, `dates like "03/04/2026 3:04 PM" may have the month first`},
		"one cell": {"site,sku,price,date\nshop.de,A,1.20,03/04/2026 3:04:05 PM\n", `["2/1/2006 3:04:05 PM"]`, `assuming that the day is first (columns.capturedAt.layouts: "1/2/2006 3:04:05 PM")`},
		"bad cell": {"site,sku,price,date\nshop.de,A,1.20,n/a\n" + days, `["2/1/2006"]`, `dates like "03/01/2026" may`},
		"hyphens":  {"site,sku,price,date\nshop.de,A,1.20,03-04-2026\n", `["2-1-2006"]`, `layouts: "1-2-2006"`},
		"second":   {"site,sku,price,date\nshop.de,A,1.20,2026-03-04\nshop.de,A,1.20,2026-03-05\nshop.de,A,1.20,03/04/2026\n", `["day", "2/1/2006"]`, `dates like "03/04/2026" may`},
		"settled":  {"site,sku,price,date,time\nshop.de,A,1.20,03/04/2026,3:04 PM\nshop.de,A,1.20,25/04/2026,3:04 PM\n", `["2/1/2006 3:04 PM"]`, ""},
		"month":    {"site,sku,price,date\nshop.de,A,1.20,03/04/2026 3:04 PM\nshop.de,A,1.20,04/25/2026 3:04 PM\n", `["1/2/2006 3:04 PM"]`, ""},
	} {
		file := filepath.Join(t.TempDir(), "x.csv")
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		g := must.Get(maps.GuessMapping(file, "", guessNow))(t)
		assumptions := strings.Join(g.Assumptions, "\n")
		if !strings.Contains(string(g.Text), "layouts: "+c.layouts) || !strings.Contains(assumptions, c.assumed) || c.assumed == "" && strings.Contains(assumptions, "day is first") {
			t.Errorf("%s: %s\n%s", name, assumptions, g.Text)
		}
	}
}
