package main

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"hash/maphash"
	"io"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// --- the oracle

// realRow is one accepted row of a file. Texts are indexes into
// realWorld.texts; 0: none.
type realRow struct {
	ms                            int64
	price, shipping               int64 // minor units; -1: none
	site, item                    int32
	currency, merchant, title     int32
	url, delivery                 int32
	unavailable, boxKnown, buyBox bool
}

// realItem is a product as the issue defines it: identified by its valid EAN,
// PZN or ASIN, otherwise by the key that its site uses.
type realItem struct {
	forms            map[string]bool // of its EAN, as written
	gtin             string          // 14 digits
	pzn, asin        string
	locale           string
	name, brand      string // the newest
	nameAt, brandAt  int64
	rows             []int32 // by time, then as in the file
	sites            map[int32]bool
	id               string // learned from the service
	product, written string // what the file calls it, and its EAN there
}

// realWorld is what one account sees.
type realWorld struct {
	client *api

	texts     []string
	textIndex map[string]int32
	rows      []realRow
	sites     []*realSite
	siteIndex map[string]int32
	items     []*realItem
	itemIndex map[string]int32
	pairs     int

	duplicates map[int]int // maps a line to the line that it repeats
}

type realSite struct {
	key, currency string
	rows          []int32 // by time, then as in the file
}

func newRealWorld() *realWorld {
	return &realWorld{
		texts: []string{""}, textIndex: map[string]int32{"": 0}, siteIndex: map[string]int32{}, itemIndex: map[string]int32{},
		duplicates: map[int]int{},
	}
}

func (w *realWorld) text(s string) int32 {
	n, ok := w.textIndex[s]
	if !ok {
		n = int32(len(w.texts))
		s = strings.Clone(s)
		w.texts, w.textIndex[s] = append(w.texts, s), n
	}
	return n
}

// The zones that marketplace-offers.yaml assumes; observations.yaml: UTC.
var realZones = map[string]string{"amazon.it": "Europe/Rome", "apomio.de": "Europe/Berlin"}

// load reads a file.
func (w *realWorld) load(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	r := csv.NewReader(z)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return err
	}
	columns := map[string]int{}
	for i, name := range header {
		columns[strings.Clone(name)] = i
	}
	var rec []string
	cell := func(column string) string {
		i, ok := columns[column]
		if !ok {
			return ""
		}
		return strings.TrimSpace(rec[i])
	}
	hash, lineOf := maphash.MakeSeed(), map[uint64]int{}
	times, amounts := map[string]int64{}, map[string]int64{"": -1}
	said := []string{
		"site", "product_key", "ean", "asin", "asin_locale", "pzn", "name", "item_name", "brand", "captured_at", "merchant", "currency", "available",
		"is_buybox", "is_prime", "shipping_days", "url", "unit", "quantity", "unit_price", "regular_price", "valid_from", "valid_to",
	}
	key := make([]byte, 0, 1024)
	for {
		if rec, err = r.Read(); err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		row := realRow{currency: w.text(cell("currency")), merchant: w.text(cell("merchant"))}
		if row.price, err = cached(amounts, cell("price"), realMinor); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if row.shipping, err = cached(amounts, cell("shipping_price"), realMinor); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		site := cell("site")
		if row.ms, err = cached(times, cell("captured_at")+realZones[site], func(string) (int64, error) { return realTime(cell("captured_at"), cmp.Or(realZones[site], "UTC")) }); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}

		key = strconv.AppendInt(strconv.AppendInt(key[:0], row.price, 10), row.shipping, 10)
		for _, column := range said {
			key = append(append(key, '|'), cell(column)...)
		}
		sum := maphash.Bytes(hash, key)
		if of, ok := lineOf[sum]; ok {
			w.duplicates[line] = of
			continue
		}
		lineOf[sum] = line

		title := squeezed(cell("name"))
		if unit := squeezed(cell("unit")); unit != "" {
			title += ", " + unit
		}
		row.title, row.url = w.text(title), w.text(cell("url"))
		if days := cell("shipping_days"); days != "" {
			row.delivery = w.text(days + " days")
		}
		row.unavailable = cell("available") == "false"
		row.boxKnown, row.buyBox = cell("is_buybox") != "", cell("is_buybox") == "true"
		row.site = w.site(site, cell("currency"))
		row.item = w.item(site, cell("product_key"), cell("ean"), cell("pzn"), cell("asin"), cell("asin_locale"))

		it := w.items[row.item]
		if name := squeezed(cell("name") + cell("item_name")); name != "" && row.ms >= it.nameAt {
			it.name, it.nameAt = w.texts[w.text(name)], row.ms
		}
		if brand := squeezed(cell("brand")); brand != "" && row.ms >= it.brandAt {
			it.brand, it.brandAt = w.texts[w.text(brand)], row.ms
		}
		n, s := int32(len(w.rows)), w.sites[row.site]
		w.rows = append(w.rows, row)
		it.rows, s.rows = append(it.rows, n), append(s.rows, n)
		it.sites[row.site] = true
	}
	for _, it := range w.items {
		w.sortByTime(it.rows)
		w.pairs += len(it.sites)
	}
	for _, s := range w.sites {
		w.sortByTime(s.rows)
	}
	return nil
}

func (w *realWorld) sortByTime(rows []int32) {
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(w.rows[a].ms, w.rows[b].ms), cmp.Compare(a, b)) })
}

func cached(m map[string]int64, key string, read func(string) (int64, error)) (int64, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	v, err := read(key)
	m[strings.Clone(key)] = v
	return v, err
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// realMinor reads an amount; the files' currencies all have two minor digits.
func realMinor(s string) (int64, error) {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%q is no amount", s)
	}
	if r.Mul(r, big.NewRat(100, 1)); !r.IsInt() || !r.Num().IsInt64() || r.Sign() < 0 {
		return 0, fmt.Errorf("%q is no amount of two decimals", s)
	}
	return r.Num().Int64(), nil
}

var realTimeForm = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(Z?))?$`)

// realTime reads a capture time; a date alone means noon.
func realTime(s, zone string) (int64, error) {
	m := realTimeForm.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no time", s)
	}
	var n [6]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // digits, or nothing
	}
	if m[4] == "" {
		n[3] = 12
	}
	loc, err := time.LoadLocation(zone)
	if m[7] == "Z" {
		loc = time.UTC
	}
	if err != nil {
		return 0, err
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, loc).UnixMilli(), nil
}

func (w *realWorld) site(key, currency string) int32 {
	n, ok := w.siteIndex[key]
	if !ok {
		n, key = int32(len(w.sites)), strings.Clone(key)
		w.siteIndex[key] = n
		w.sites = append(w.sites, &realSite{key: key, currency: strings.Clone(currency)})
	}
	return n
}

func (w *realWorld) item(site, product, ean, pzn, asin, locale string) int32 {
	gtin, shared := realGTIN(ean)
	for pzn != "" && len(pzn) < 8 {
		pzn = "0" + pzn
	}
	key := "own " + site + " " + product
	switch {
	case shared:
		key = "ean " + gtin
	case pzn != "":
		key = "pzn " + pzn
	case asin != "":
		key = "asin " + locale + " " + asin
	}
	n, ok := w.itemIndex[key]
	if !ok {
		n = int32(len(w.items))
		w.itemIndex[key] = n
		w.items = append(w.items, &realItem{
			forms: map[string]bool{}, sites: map[int32]bool{}, gtin: gtin, pzn: strings.Clone(pzn), asin: strings.Clone(asin), locale: strings.Clone(locale),
			product: strings.Clone(product), written: strings.Clone(ean),
		})
	}
	if gtin != "" {
		w.items[n].forms[strings.Clone(ean)] = true
	}
	return n
}

// realGTIN returns the 14 digits of a valid GTIN, otherwise ""; shared reports
// whether the number means the same product everywhere. Eleven digits are
// twelve that lost a leading zero.
func realGTIN(s string) (gtin string, shared bool) {
	switch len(s) {
	case 11:
		s = "0" + s
	case 8, 12, 13, 14:
	default:
		return "", false
	}
	padded, sum := fmt.Sprintf("%014s", s), 0
	for i, digit := range padded {
		if digit < '0' || digit > '9' {
			return "", false
		}
		sum += int(digit-'0') * (3 - 2*(i%2)) // weights 3, 1, ... from the left of 14 digits
	}
	if sum%10 != 0 {
		return "", false
	}
	// Restricted circulation: prefixes 2, 02 and 04 of 13 digits, 2 and 0 of 8.
	inStore := strings.HasPrefix(padded[1:], "2") || strings.HasPrefix(padded[1:], "02") || strings.HasPrefix(padded[1:], "04")
	if strings.HasPrefix(padded, "000000") {
		inStore = padded[6] == '2' || padded[6] == '0'
	}
	return padded, !inStore
}
