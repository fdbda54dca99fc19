package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// seedVariable repeats a run of TestRealData.
const seedVariable = "PREISMON_TEST_SEED"

const (
	realQuestions   = 520
	realLookups     = 5 // one question in this many looks up items, the others ask for results
	realWorkers     = 2
	realEarliest    = "2020-01-01"
	realObservation = "observations.csv.gz"
	realMarketplace = "marketplace_offers.csv.gz"
)

// TestRealData imports real observations by the real commands and asks the
// real service about them: everything once, row by row, then at random, pages
// and streams. What is right is said by an oracle that reads the CSV files
// with code of its own; it shares the mapping's documented decisions with
// ingest/maps, and no line of it.
func TestRealData(t *testing.T) {
	dir := realDataDir(t)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d repeats the questions", seedVariable, seed)

	begin := time.Now()
	u := startUp(t, "--reads-per-minute", "100000", "--log-level", "warn")
	t.Logf("up is ready after %.1f s", u.Ready.Seconds())

	first := importReal(t, u, realObservation, "observations", "a")
	if first.rows != 778_026 || first.accepted != 778_026 || first.rejected != 0 || first.code != 0 {
		t.Errorf("%s: %+v, want 778026 rows, all of them accepted", realObservation, first)
	}
	t.Logf("import: %.1f s, %.0f rows/s from the file to the tables", first.took.Seconds(), float64(first.rows)/first.took.Seconds())

	// The oracle reads while the file is imported for the second time.
	worlds := [2]*realWorld{newRealWorld(), newRealWorld()}
	var loadErr error
	var reading sync.WaitGroup
	reading.Go(func() {
		loadErr = errors.Join(worlds[0].load(filepath.Join(dir, realObservation)), worlds[1].load(filepath.Join(dir, realMarketplace)))
	})
	again := importReal(t, u, realObservation, "observations", "a")
	if again.events >= first.events || again.known != again.events || again.accepted != first.accepted {
		t.Errorf("second import: %+v after %+v; all of it is known, no observation is published, nor the account, which is there", again, first)
	}
	offers := importReal(t, u, realMarketplace, "marketplace-offers", "b")
	reading.Wait()
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	if offers.rows != 2157 || offers.rejected != len(worlds[1].duplicates) || offers.rejected != 72 || offers.code != exitRejected {
		t.Errorf("%s: %+v, want 2157 rows, 72 of them rejected, as exact duplicates; the oracle finds %d", realMarketplace, offers, len(worlds[1].duplicates))
	}
	if len(worlds[0].duplicates) > 0 || len(worlds[0].rows) != first.accepted || len(worlds[1].rows) != offers.accepted {
		t.Errorf("the oracle holds %d and %d rows", len(worlds[0].rows), len(worlds[1].rows))
	}
	sameRejects(t, worlds[1].duplicates, offers.rejects)
	imported := time.Since(begin)

	for i, w := range worlds {
		w.client = u.client().login([]string{"a", "b"}[i]+"@example.com", realPassword)
	}
	start := time.Now()
	for _, w := range worlds {
		w.compareSites(t)
		w.compareEverything(t)
		w.compareCatalogue(t)
	}
	everything := time.Since(start)
	if t.Failed() {
		t.FailNow() // the questions would only repeat it
	}

	start = time.Now()
	asked := askReal(t, worlds, seed)
	t.Logf("%d questions (%s), %d rows compared", asked.total(), asked, asked.rows)
	t.Logf("imports and oracle %.1f s, every row compared %.1f s, questions %.1f s, all %.1f s",
		imported.Seconds(), everything.Seconds(), time.Since(start).Seconds(), time.Since(begin).Seconds())

	u.interrupt()
	if code := u.wait(); code != 0 {
		t.Errorf("up ended with %d", code)
	}
}

// realDataDir finds ../shared/data beside the repository. The files have no
// licence and are no part of the project, so the test can run only there.
func realDataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		data := filepath.Join(filepath.Dir(dir), "shared", "data")
		if _, err := os.Stat(filepath.Join(data, realObservation)); err != nil {
			t.Skipf("NOT RUN on real data: there is no ../shared/data/%s beside the repository", realObservation)
		}
		return data
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// --- import

const realPassword = "correct horse battery"

// realImport is what an import says about itself.
type realImport struct {
	rows, accepted, rejected, events, known, code int
	took                                          time.Duration
	rejects                                       []byte
}

var (
	summaryRows   = regexp.MustCompile(`rows +([0-9,]+): ([0-9,]+) accepted, ([0-9,]+) rejected`)
	summaryEvents = regexp.MustCompile(`Published ([0-9,]+) events \(([0-9,]+) known already\)`)
)

func importReal(t *testing.T, u *upProcess, file, mapping, name string) realImport {
	t.Helper()
	rejects := filepath.Join(t.TempDir(), "rejects.ndjson")
	start := time.Now()
	stdout, stderr, code := preismon(t, []string{"PREISMON_PASSWORD=" + realPassword}, "import", filepath.Join(realDataDir(t), file),
		"--map", mapping, "--mandate", "Real "+name, "--login", name+"@example.com", "--data-dir", u.DataDir, "--rejects", rejects)
	im := realImport{code: code, took: time.Since(start)}
	rows, events := summaryRows.FindStringSubmatch(stdout), summaryEvents.FindStringSubmatch(stderr)
	if rows == nil || events == nil {
		t.Fatalf("import %s: %d\n%s\n%s", file, code, stdout, stderr)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	im.rows, im.accepted, im.rejected = number(rows[1]), number(rows[2]), number(rows[3])
	im.events, im.known = number(events[1]), number(events[2])
	var err error
	if im.rejects, err = os.ReadFile(rejects); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return im
}

// sameRejects wants each duplicate to be listed by its line, with the line it repeats.
func sameRejects(t *testing.T, duplicates map[int]int, rejects []byte) {
	t.Helper()
	listed := map[int]bool{}
	for line := range bytes.Lines(rejects) {
		var r struct {
			Line   int    `json:"line"`
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		of, ok := duplicates[r.Line]
		if want := fmt.Sprintf("exact duplicate of line %d", of); !ok || r.Reason != want || listed[r.Line] {
			t.Errorf("line %d is rejected: %q; the oracle says %t %q", r.Line, r.Reason, ok, want)
		}
		listed[r.Line] = true
	}
	if len(listed) != len(duplicates) {
		t.Errorf("%d lines are rejected, the oracle finds %d duplicates", len(listed), len(duplicates))
	}
}

// --- the oracle

// realRow is one accepted row of a file. Texts are numbers in realWorld.texts; 0 is none.
type realRow struct {
	ms                            int64
	price, shipping               int64 // minor units; -1: none
	site, item                    int32
	currency, merchant, title     int32
	url, delivery                 int32
	unavailable, boxKnown, buyBox bool
}

// realItem is a product as the issue defines it: one by its valid EAN, PZN or
// ASIN, else by the key its site uses.
type realItem struct {
	forms            map[string]bool // of its EAN, as written
	gtin             string          // 14 digits
	pzn, asin        string
	locale           string
	name, brand      string // the newest
	nameAt, brandAt  int64
	rows             []int32 // by time, then as in the file
	sites            map[int32]bool
	id               string // learnt from the service
	product, written string // what the file calls it, and the EAN there
}

// realWorld is what one account sees.
type realWorld struct {
	client *api

	texts     []string
	textIndex map[string]int32
	rows      []realRow
	byTime    []int32
	sites     []*realSite
	siteIndex map[string]int32
	items     []*realItem
	itemIndex map[string]int32
	byGTIN    map[string][]int32
	pairs     int

	duplicates map[int]int // line to the line it repeats
}

type realSite struct {
	key, currency string
	rows          []int32 // by time, then as in the file
	items         map[int32]bool
	orderID       string // learnt from the service
}

func newRealWorld() *realWorld {
	return &realWorld{
		texts: []string{""}, textIndex: map[string]int32{"": 0}, siteIndex: map[string]int32{}, itemIndex: map[string]int32{},
		byGTIN: map[string][]int32{}, duplicates: map[int]int{},
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
		w.rows, w.byTime = append(w.rows, row), append(w.byTime, n)
		it.rows, s.rows = append(it.rows, n), append(s.rows, n)
		it.sites[row.site], s.items[row.item] = true, true
	}
	for _, it := range w.items {
		w.sortByTime(it.rows)
		w.pairs += len(it.sites)
	}
	for _, s := range w.sites {
		w.sortByTime(s.rows)
	}
	w.sortByTime(w.byTime)
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

// realTime reads a capture time; a day alone is taken at noon.
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
		w.sites = append(w.sites, &realSite{key: key, currency: strings.Clone(currency), items: map[int32]bool{}})
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
		if gtin != "" {
			w.byGTIN[gtin] = append(w.byGTIN[gtin], n)
		}
	}
	if gtin != "" {
		w.items[n].forms[strings.Clone(ean)] = true
	}
	return n
}

// realGTIN gives the 14 digits of a right GTIN, else nothing; shared tells
// that the number means the same product everywhere. Eleven digits are twelve
// whose zero was lost.
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

// --- everything

// compareSites asks for all sites (SITE-K1): an account sees its own (VIS-05).
func (w *realWorld) compareSites(t *testing.T) {
	t.Helper()
	var page struct {
		Data []struct {
			Site                   string `json:"site"`
			CurrencyCode           string `json:"currencyCode"`
			CanonicalCountryMarket bool   `json:"canonicalCountryMarket"`
		} `json:"data"`
	}
	if err := w.client.list("/v1/sites", nil, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != len(w.sites) {
		t.Errorf("%d sites, want %d", len(page.Data), len(w.sites))
	}
	for _, got := range page.Data {
		n, ok := w.siteIndex[got.Site]
		if !ok || w.sites[n].currency != got.CurrencyCode || got.CanonicalCountryMarket != (got.Site == "amazon.it") {
			t.Errorf("site %+v, known to the oracle: %t", got, ok)
		}
	}
}

// list reads one page of a list.
func (a *api) list(path string, params url.Values, into any) error {
	status, body := a.get(path, params)
	if status != http.StatusOK {
		return fmt.Errorf("GET %s?%s: %d %s", path, params.Encode(), status, body)
	}
	return json.Unmarshal(body, into)
}

// apiRow is a row with its export, identity and order fields.
type apiRow struct {
	ItemID            string      `json:"itemId"`
	Site              string      `json:"site"`
	CapturedAt        time.Time   `json:"capturedAt"`
	Availability      string      `json:"availability"`
	Price             json.Number `json:"price"`
	PriceMoney        *apiMoney   `json:"priceMoney"`
	CurrencyCode      string      `json:"currencyCode"`
	Merchant          string      `json:"merchant"`
	EAN               string      `json:"ean"`
	PZN               string      `json:"pzn"`
	ASIN              string      `json:"asin"`
	OrderIDs          []string    `json:"orderIds"`
	ProductURL        string      `json:"productUrl"`
	OfferTitle        string      `json:"offerTitle"`
	ShippingCostMoney *apiMoney   `json:"shippingCostMoney"`
	DeliveryText      string      `json:"deliveryText"`
	IsBuyBox          *bool       `json:"isBuyBox"`
}

type apiMoney struct {
	Value        json.Number `json:"value"`
	AmountMinor  int64       `json:"amountMinor"`
	CurrencyCode string      `json:"currencyCode"`
}

// rowSet is a set of rows by two sums of their hashes; order is no part of it.
type rowSet struct {
	count     int
	one, some uint64
}

func (s *rowSet) add(seeds *[2]maphash.Seed, row []byte) {
	s.count++
	s.one += maphash.Bytes(seeds[0], row)
	s.some += maphash.Bytes(seeds[1], row)
}

// pairKey is an item at a site, by the service's id.
type pairKey struct{ site, item string }

// compareEverything reads every row of every site as streams, and wants the
// rows of each item at each site to be those of the file: not one more, not
// one less (RES-K1, RES-P03a). It learns the ids of items and orders on
// the way; an item of several sites must have the same one everywhere.
func (w *realWorld) compareEverything(t *testing.T) {
	t.Helper()
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	type task struct {
		site   int32
		params url.Values
	}
	tasks := make(chan task, 256)
	for n, s := range w.sites {
		// Windows that adjoin: the end of one lies a millisecond before the next.
		const part = 100_000
		from := realEarliest
		for at := part; ; at += part {
			params := url.Values{
				"site": {s.key}, "capturedFrom": {from}, "sort": {"asc"},
				"includeExportFields": {"true"}, "includeIdentity": {"true"}, "includeOrderIds": {"true"},
			}
			if at >= len(s.rows) {
				tasks <- task{int32(n), params} // up to now
				break
			}
			edge := w.rows[s.rows[at]].ms
			params.Set("capturedTo", instantText(edge-1, time.UTC))
			from = instantText(edge, time.UTC)
			tasks <- task{int32(n), params}
		}
	}
	close(tasks)

	var mu sync.Mutex
	got, rows := map[pairKey]*rowSet{}, 0
	orders := map[string]map[string]bool{} // of a site
	var workers sync.WaitGroup
	for range realWorkers {
		workers.Go(func() {
			for job := range tasks {
				sets, seen := map[string]*rowSet{}, map[string]bool{}
				var buf []byte
				n := 0
				header, trailer, err := w.client.stream("/v1/results/stream", job.params, func(line []byte) error {
					var r apiRow
					if err := json.Unmarshal(line, &r); err != nil {
						return err
					}
					if r.Site != w.sites[job.site].key || len(r.OrderIDs) != 1 {
						return fmt.Errorf("a row of site %s with %d orders", r.Site, len(r.OrderIDs))
					}
					n++
					seen[r.OrderIDs[0]] = true
					set := sets[r.ItemID]
					if set == nil {
						set = &rowSet{}
						sets[r.ItemID] = set
					}
					var err error
					buf, err = r.append(buf[:0])
					set.add(&seeds, buf)
					return err
				})
				if err == nil && (header.Get("X-Results-Scope") != "scoped" || trailer.Get("X-Results-Returned") != strconv.Itoa(n)) {
					err = fmt.Errorf("%d rows with %v and %v", n, header, trailer)
				}
				if err != nil {
					t.Errorf("stream %s: %v", job.params.Encode(), err)
				}
				mu.Lock()
				rows += n
				key := w.sites[job.site].key
				if orders[key] == nil {
					orders[key] = map[string]bool{}
				}
				for order := range seen {
					orders[key][order] = true
				}
				for item, set := range sets {
					all := got[pairKey{key, item}]
					if all == nil {
						all = &rowSet{}
						got[pairKey{key, item}] = all
					}
					all.count, all.one, all.some = all.count+set.count, all.one+set.one, all.some+set.some
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if rows != len(w.rows) {
		t.Errorf("the service has %d rows, want %d", rows, len(w.rows))
	}

	siteOfOrder := map[string]string{}
	for _, s := range w.sites {
		if len(orders[s.key]) != 1 {
			t.Errorf("rows of site %s are in %d orders, want 1", s.key, len(orders[s.key]))
		}
		for order := range orders[s.key] {
			if other, taken := siteOfOrder[order]; taken {
				t.Errorf("sites %s and %s share an order", other, s.key)
			}
			siteOfOrder[order], s.orderID = s.key, order
		}
	}
	w.matchItems(t, got, &seeds)
}

// matchItems finds for each item of the oracle the id under which the service
// has exactly its rows.
func (w *realWorld) matchItems(t *testing.T, got map[pairKey]*rowSet, seeds *[2]maphash.Seed) {
	t.Helper()
	type content struct {
		site string
		set  rowSet
	}
	ids := map[content][]string{}
	for pair, set := range got {
		c := content{pair.site, *set}
		ids[c] = append(ids[c], pair.item)
	}
	for _, list := range ids {
		slices.Sort(list)
	}
	wrong, taken := 0, map[string]int{}
	var buf []byte
	for n, it := range w.items {
		sets := map[int32]*rowSet{}
		for _, r := range it.rows {
			row := &w.rows[r]
			if sets[row.site] == nil {
				sets[row.site] = &rowSet{}
			}
			buf = w.append(buf[:0], row)
			sets[row.site].add(seeds, buf)
		}
		for site, set := range sets {
			c := content{w.sites[site].key, *set}
			id := ""
			if list := ids[c]; len(list) > 0 { // twins in everything but their name may be exchanged
				id, ids[c] = list[0], list[1:]
			}
			other, known := taken[id]
			switch {
			case id == "":
				wrong++
				if wrong <= 10 {
					t.Errorf("no item of site %s has the %d rows of the product %q (EAN %q)", c.site, set.count, it.product, it.written)
				}
			case it.id == "" && !known:
				it.id, taken[id] = id, n
			case it.id != id || known && other != n:
				wrong++
				if wrong <= 10 {
					t.Errorf("product %q (EAN %q) is item %s, and %s at site %s", it.product, it.written, it.id, id, c.site)
				}
			}
		}
	}
	left := 0
	for _, list := range ids {
		left += len(list)
	}
	if wrong > 0 || left > 0 || len(got) != w.pairs {
		t.Errorf("%d pairs, want %d; %d are wrong, %d of the service's are no product of the file", len(got), w.pairs, wrong, left)
	}
}

// append writes what both sides of the comparison say about a row.
func (r *apiRow) append(b []byte) ([]byte, error) {
	money := func(m *apiMoney) (int64, error) {
		if m == nil {
			return -1, nil
		}
		if m.CurrencyCode != r.CurrencyCode {
			return 0, fmt.Errorf("a row in %s has an amount in %s", r.CurrencyCode, m.CurrencyCode)
		}
		n, err := realMinor(string(m.Value))
		if n != m.AmountMinor {
			return 0, fmt.Errorf("%s is not %d minor units %w", m.Value, m.AmountMinor, err)
		}
		return n, nil
	}
	price, err := money(r.PriceMoney)
	shipping, err2 := money(r.ShippingCostMoney)
	if r.PriceMoney != nil && r.Price != r.PriceMoney.Value {
		err2 = fmt.Errorf("price %s beside %s", r.Price, r.PriceMoney.Value)
	}
	box := "?"
	if r.IsBuyBox != nil {
		box = strconv.FormatBool(*r.IsBuyBox)
	}
	gtin, _ := realGTIN(r.EAN)
	b = appendRow(b, r.CapturedAt.UnixMilli(), price, shipping, r.Availability, r.CurrencyCode, r.Merchant, r.OfferTitle, r.ProductURL, r.DeliveryText, box, gtin, r.PZN, r.ASIN)
	return b, errors.Join(err, err2)
}

func (w *realWorld) append(b []byte, r *realRow) []byte {
	it := w.items[r.item]
	box := "?"
	if r.boxKnown {
		box = strconv.FormatBool(r.buyBox)
	}
	return appendRow(b, r.ms, r.price, r.shipping, r.availability(), w.texts[r.currency], w.texts[r.merchant], w.texts[r.title], w.texts[r.url], w.texts[r.delivery], box, it.gtin, it.pzn, it.asin)
}

func appendRow(b []byte, ms, price, shipping int64, texts ...string) []byte {
	for _, n := range []int64{ms, price, shipping} {
		b = append(strconv.AppendInt(b, n, 10), '|')
	}
	for _, s := range texts {
		b = append(append(b, s...), 0)
	}
	return b
}

func (r *realRow) availability() string {
	if r.unavailable {
		return "UNAVAILABLE"
	}
	return "AVAILABLE"
}

// compareCatalogue walks all items by pages (ITEM-00b): each is one of the oracle's,
// with the name and brand that were captured last.
func (w *realWorld) compareCatalogue(t *testing.T) {
	t.Helper()
	byID := map[string]*realItem{}
	for _, it := range w.items {
		byID[it.id] = it
	}
	params, seen := url.Values{"limit": {"1000"}}, 0
	for {
		var page apiItems
		if err := w.client.list("/v1/items", params, &page); err != nil {
			t.Fatal(err)
		}
		for _, got := range page.Data {
			it := byID[got.ItemID]
			if it == nil {
				t.Errorf("item %s is unknown to the oracle, or comes twice", got.ItemID)
				continue
			}
			if want := it.record(got.EAN); got != want {
				t.Errorf("item %+v, want %+v", got, want)
			}
			delete(byID, got.ItemID)
		}
		if seen += len(page.Data); page.Paging.NextCursor == "" {
			break
		}
		params.Set("cursor", page.Paging.NextCursor)
	}
	if seen != len(w.items) || len(byID) > 0 {
		t.Errorf("%d items, want %d", seen, len(w.items))
	}
}

type apiItem struct {
	ItemID     string `json:"itemId"`
	EAN        string `json:"ean"`
	PZN        string `json:"pzn"`
	ASIN       string `json:"asin"`
	ASINLocale string `json:"asinLocale"`
	Name       string `json:"name"`
	Brand      string `json:"brand"`
}

type apiItems struct {
	Data   []apiItem `json:"data"`
	Paging struct {
		NextCursor string `json:"nextCursor"`
	} `json:"paging"`
}

// record is the item as the service should show it; the EAN may be in any of
// the forms in which the file writes it.
func (it *realItem) record(shownEAN string) apiItem {
	ean := shownEAN
	if !it.forms[ean] && !it.forms[strings.TrimPrefix(ean, "0")] {
		ean = it.gtin
	}
	return apiItem{ItemID: it.id, EAN: ean, PZN: it.pzn, ASIN: it.asin, ASINLocale: it.locale, Name: it.name, Brand: it.brand}
}

func instantText(ms int64, loc *time.Location) string {
	return time.UnixMilli(ms).In(loc).Format("2006-01-02T15:04:05.000Z07:00")
}

// --- questions

// zonesAsked are zones of the data and of its oddities: clocks that change
// within the data's time, at midnight in some of them, and odd offsets.
var zonesAsked = []string{
	"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Jerusalem", "Europe/Helsinki", "Europe/Rome",
	"America/Santiago", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Kiritimati",
}

// realQuestion is a question about results, and how the oracle understands it.
type realQuestion struct {
	w      *realWorld
	params url.Values
	loc    *time.Location

	site     int32          // -1: not selected; -2: one the account does not see
	items    map[int32]bool // nil: no product selected
	from, to func(ms int64) bool
	lo, hi   int64 // bounds of the window with room at both ends
	keep     []func(*realRow) bool
	latest   string // "", latestPerPair, latestObservationPerPair
}

// asked counts what was asked.
type asked struct {
	mu    sync.Mutex
	kinds map[string]int
	rows  int
}

func (a *asked) count(kind string, rows int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kinds[kind]++
	a.rows += rows
}

func (a *asked) total() (n int) {
	for _, k := range a.kinds {
		n += k
	}
	return n
}

func (a *asked) String() string {
	var parts []string
	for k, n := range a.kinds {
		parts = append(parts, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// askReal asks random questions. Each depends on the seed and its own number.
func askReal(t *testing.T, worlds [2]*realWorld, seed uint64) *asked {
	t.Helper()
	count := &asked{kinds: map[string]int{}}
	numbers := make(chan uint64, realQuestions)
	for n := range uint64(realQuestions) {
		numbers <- n
	}
	close(numbers)
	transitions := make(chan *realQuestion, 100)
	for _, q := range worlds[0].transitions() {
		transitions <- q
	}
	close(transitions)
	var workers sync.WaitGroup
	for range realWorkers {
		workers.Go(func() {
			for q := range transitions {
				rows, _, err := q.ask(rand.New(rand.NewPCG(seed, 0)))
				count.count("day of a change of clocks", rows)
				if err != nil {
					t.Errorf("%s: %v", q.params.Encode(), err)
				}
			}
			for n := range numbers {
				rnd := rand.New(rand.NewPCG(seed, n))
				w, other := worlds[0], worlds[1]
				if rnd.IntN(6) == 0 {
					w, other = other, w
				}
				if n%realLookups == 0 {
					kind, err := w.randomLookup(rnd, other)
					count.count("items "+kind, 0)
					if err != nil {
						t.Errorf("seed %d, question %d: %v", seed, n, err)
					}
					continue
				}
				q, kind := w.randomQuestion(rnd, other)
				rows, refused, err := q.ask(rnd)
				if refused {
					kind += " (refused)"
				}
				count.count(kind, rows)
				if err != nil {
					t.Errorf("seed %d, question %d: %s: %v", seed, n, q.params.Encode(), err)
				}
			}
		})
	}
	workers.Wait()
	return count
}

func pick[T any](rnd *rand.Rand, list []T) T { return list[rnd.IntN(len(list))] }

// randomItem picks an item of the kind that has what is wanted, or any.
func (w *realWorld) randomItem(rnd *rand.Rand, has func(*realItem) bool) int32 {
	for range 20_000 {
		if n := int32(rnd.IntN(len(w.items))); has(w.items[n]) {
			return n
		}
	}
	return int32(rnd.IntN(len(w.items)))
}

// eanForm writes a GTIN in one of its lengths.
func eanForm(rnd *rand.Rand, gtin string) string {
	forms := []string{gtin}
	for _, n := range []int{13, 12, 8} {
		if strings.Trim(gtin[:14-n], "0") == "" {
			forms = append(forms, gtin[14-n:])
		}
	}
	return pick(rnd, forms)
}

func itemSet(list ...int32) map[int32]bool {
	set := map[int32]bool{}
	for _, n := range list {
		set[n] = true
	}
	return set
}

// randomQuestion makes a question (RES-P03a one selector, RES-01 several).
// All but the window is decided first; the window lies around a row in scope.
func (w *realWorld) randomQuestion(rnd *rand.Rand, other *realWorld) (*realQuestion, string) {
	q := &realQuestion{w: w, params: url.Values{}, site: -1, loc: time.UTC}
	pivot := &w.rows[pick(rnd, pick(rnd, w.sites).rows)] // each site as often as another
	kind := pick(rnd, []string{
		"site", "site", "item", "item", "ean", "ean", "ean at several sites", "order", "global", "site and item", "order and ean",
		"pzn", "asin", "own key", "own key", pick(rnd, []string{"isolation", "none"}),
	})
	choose := func(has func(*realItem) bool) *realItem {
		n := w.randomItem(rnd, has)
		it := w.items[n]
		q.items, pivot = itemSet(n), &w.rows[pick(rnd, it.rows)]
		return it
	}
	selectSite := func(n int32) {
		q.site = n
		q.params.Set("site", w.sites[n].key)
	}
	chooseEAN := func(sites int) {
		it := choose(func(it *realItem) bool { return it.gtin != "" && len(it.sites) >= sites })
		q.items = itemSet(w.byGTIN[it.gtin]...)
		q.params.Set("ean", eanForm(rnd, it.gtin))
	}
	switch eans := len(w.byGTIN) > 0; { // each file has its own kind of keys
	case eans && (kind == "pzn" || kind == "asin"):
		kind = "site"
	case !eans && (strings.Contains(kind, "ean") || kind == "own key"):
		kind = pick(rnd, []string{"pzn", "asin"})
	}
	switch kind {
	case "site":
		selectSite(pivot.site)
	case "order":
		q.site = pivot.site
		q.params.Set("orderId", w.sites[pivot.site].orderID)
	case "item":
		q.params.Set("itemId", choose(func(*realItem) bool { return true }).id)
	case "own key":
		q.params.Set("itemId", choose(func(it *realItem) bool { return it.gtin == "" }).id)
	case "ean":
		chooseEAN(1)
	case "ean at several sites":
		chooseEAN(2)
	case "pzn":
		q.params.Set("pzn", choose(func(it *realItem) bool { return it.pzn != "" }).pzn)
	case "asin":
		it := choose(func(it *realItem) bool { return it.asin != "" })
		q.params.Set("asin", it.asin)
		q.params.Set("asinLocale", it.locale)
		if rnd.IntN(8) == 0 { // RES-P03b: another market is another product
			q.params.Set("asinLocale", "de")
			q.items = itemSet()
		}
	case "site and item":
		q.params.Set("itemId", choose(func(*realItem) bool { return true }).id)
		selectSite(pivot.site)
		if rnd.IntN(4) == 0 {
			selectSite(int32(rnd.IntN(len(w.sites)))) // maybe one that does not have it
		}
	case "order and ean":
		chooseEAN(1)
		if q.site = pivot.site; rnd.IntN(4) == 0 {
			q.site = int32(rnd.IntN(len(w.sites)))
		}
		q.params.Set("orderId", w.sites[q.site].orderID)
	case "global":
		q.params.Set("globalScope", "true")
	case "isolation": // what belongs to the other account is nothing here (VIS-02, VIS-05)
		foreign := pick(rnd, other.sites)
		theirs := pick(rnd, other.items)
		q.site, q.items = -2, itemSet()
		switch rnd.IntN(3) {
		case 0:
			q.params.Set("site", foreign.key)
		case 1:
			q.params.Set("orderId", foreign.orderID)
		default:
			q.params.Set("itemId", theirs.id)
		}
		pivot = &other.rows[pick(rnd, theirs.rows)]
	case "none": // everything in scope: only for latest reads
	}

	if kind == "none" {
		q.latest = pick(rnd, []string{"latestPerPair", "latestObservationPerPair"})
	} else if rnd.IntN(3) == 0 {
		q.latest = pick(rnd, []string{"latestPerPair", "latestObservationPerPair"})
	}
	if q.latest != "" {
		q.params.Set(q.latest, "true")
	}
	if zone := pick(rnd, zonesAsked); rnd.IntN(4) > 0 {
		q.params.Set("timezone", zone)
		loc, err := time.LoadLocation(zone)
		if err != nil {
			panic(err)
		}
		q.loc = loc
	}
	q.window(rnd, kind, pivot)
	q.filters(rnd, pivot)
	for _, group := range []string{"includeExportFields", "includeIdentity", "includeCoverage", "includeOrderIds", "includeCustomerData"} {
		if rnd.IntN(3) == 0 {
			q.params.Set(group, "true")
		}
	}
	if sort := rnd.IntN(3); sort > 0 {
		q.params.Set("sort", []string{"asc", "desc"}[sort-1])
	}
	return q, strings.TrimSpace(kind + " " + q.latest)
}

const hourMs = 3_600_000

// window sets the bounds around a row (RES-P08a, RES-P08b, RES-02a, RES-02b).
// An instant is compared as such; a date by the calendar of the zone, which
// needs no thought about where its days begin.
func (q *realQuestion) window(rnd *rand.Rand, kind string, pivot *realRow) {
	q.lo, q.hi = -1<<62, 1<<62
	q.from, q.to = func(int64) bool { return true }, func(int64) bool { return true }
	product := q.items != nil
	if kind == "none" || q.latest != "" && kind != "global" && rnd.IntN(3) == 0 {
		return // choices 28: latest reads have no implicit window
	}
	spans := []int64{0, 1, 6, 24, 3 * 24, 10 * 24}
	switch {
	case product:
		spans = append(spans, 100*24, 1000*24)
	case kind == "global":
		spans = spans[:4]
	case len(q.w.sites) > 2 && q.site >= 0 && len(q.w.sites[q.site].rows) > 100_000:
		spans = []int64{0, 0, 1, 6, 24}
	}
	span := pick(rnd, spans) * hourMs
	lower := pivot.ms - int64(rnd.Float64()*float64(span))
	upper := lower + span
	lower, upper = lower+int64(rnd.IntN(3)-1), upper+int64(rnd.IntN(3)-1) // the edge itself, or a millisecond beside it
	upper = max(lower, upper)
	both := kind == "global" || !product && q.latest == "" || rnd.IntN(3) > 0
	onlyUpper := !both && rnd.IntN(2) == 0
	dates := rnd.IntN(2) == 0
	if kind == "global" && span > 4*24*hourMs {
		dates = false
	}
	day := func(ms int64) string { return time.UnixMilli(ms).In(q.loc).Format(time.DateOnly) }
	if !onlyUpper {
		if dates {
			bound := day(lower)
			q.params.Set("capturedFrom", bound)
			q.from, q.lo = func(ms int64) bool { return day(ms) >= bound }, lower-48*hourMs
		} else {
			q.params.Set("capturedFrom", instantText(lower, q.offset(rnd)))
			q.from, q.lo = func(ms int64) bool { return ms >= lower }, lower
		}
	}
	if both || onlyUpper {
		if dates != (rnd.IntN(6) == 0 && kind != "global") { // one bound of each kind now and then
			bound := day(upper)
			q.params.Set("capturedTo", bound)
			q.to, q.hi = func(ms int64) bool { return day(ms) <= bound }, upper+48*hourMs
		} else {
			q.params.Set("capturedTo", instantText(upper, q.offset(rnd)))
			q.to, q.hi = func(ms int64) bool { return ms <= upper }, upper
		}
	}
}

// offset is a zone to write an instant in: it does not matter which.
func (q *realQuestion) offset(rnd *rand.Rand) *time.Location {
	return pick(rnd, []*time.Location{time.UTC, q.loc, time.FixedZone("", -(3*3600 + 1800))})
}

// transitions asks, for each zone, for each day within the data's time on
// which its clocks change, with the day before where they do at midnight (RES-02a,
// RES-02b). In two of the zones captures fall into the hour by which such a
// day is longer than 24.
func (w *realWorld) transitions() (all []*realQuestion) {
	highest := w.rows[w.byTime[len(w.byTime)-1]].ms
	lowest := max(w.rows[w.byTime[0]].ms, highest-420*24*hourMs)
	for _, zone := range []string{"America/Adak", "Pacific/Norfolk", "Europe/Berlin", "Asia/Jerusalem", "Africa/Cairo", "America/Santiago"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			panic(err)
		}
		day := func(ms int64) string { return time.UnixMilli(ms).In(loc).Format(time.DateOnly) }
		_, change := time.UnixMilli(lowest).In(loc).ZoneBounds()
		for ; !change.IsZero() && change.UnixMilli() < highest; _, change = change.ZoneBounds() {
			at := change.UnixMilli()
			q := &realQuestion{w: w, loc: loc, site: -1, lo: at - 96*hourMs, hi: at + 96*hourMs}
			first, last := day(at-1), day(at)
			q.from = func(ms int64) bool { return day(ms) >= first }
			q.to = func(ms int64) bool { return day(ms) <= last }
			q.params = url.Values{"globalScope": {"true"}, "timezone": {zone}, "capturedFrom": {first}, "capturedTo": {last}}
			all = append(all, q)
		}
	}
	return all
}

// filters adds some (RES-P05a, RES-P06a, RES-P06b, RES-P07, RES-01).
func (q *realQuestion) filters(rnd *rand.Rand, pivot *realRow) {
	w := q.w
	if q.site == -2 {
		return
	}
	one := 4
	if len(w.byGTIN) == 0 {
		one = 3 // offers of many merchants
	}
	if merchant := w.texts[pivot.merchant]; merchant != "" && rnd.IntN(one) == 0 {
		q.params.Set("merchant", merchant)
		q.keep = append(q.keep, func(r *realRow) bool { return r.merchant == pivot.merchant })
	}
	if brand := w.items[pivot.item].brand; brand != "" && rnd.IntN(one) == 0 {
		q.params.Set("brand", brand)
		q.keep = append(q.keep, func(r *realRow) bool { return w.items[r.item].brand == brand })
	}
	if rnd.IntN(2*one) == 0 {
		want := rnd.IntN(2) == 0
		q.params.Set("isBuyBox", strconv.FormatBool(want))
		q.keep = append(q.keep, func(r *realRow) bool {
			return w.sites[r.site].key == "amazon.it" && r.boxKnown && r.buyBox == want
		})
	}
	if rnd.IntN(40) == 0 {
		q.params.Set("isPrime", strconv.FormatBool(rnd.IntN(2) == 0)) // no source has it
		q.keep = append(q.keep, func(*realRow) bool { return false })
	}
	if rnd.IntN(5) == 0 {
		state := pick(rnd, []string{"PRICE_OBSERVED", "PRICE_OBSERVED", "UNAVAILABLE", "UNAVAILABLE", "PRODUCT_NOT_FOUND", "NO_RESULT", "UNKNOWN"})
		q.params.Set("coverageState", state)
		q.keep = append(q.keep, func(r *realRow) bool { return r.coverageState() == state })
	}
}

func (r *realRow) coverageState() string {
	if r.unavailable {
		return "UNAVAILABLE"
	}
	return "PRICE_OBSERVED"
}

// refusal is the code with which a latest read over too much is refused
// (RES-07a, RES-08), or nothing.
func (q *realQuestion) refusal() string {
	if q.latest == "" || q.site == -2 {
		return ""
	}
	pairs, items, sites := 0, map[int32]bool{}, map[int32]bool{}
	for n, it := range q.w.items {
		if q.items != nil && !q.items[int32(n)] {
			continue
		}
		for s := range it.sites {
			if q.site < 0 || q.site == s {
				pairs++
				items[int32(n)], sites[s] = true, true
			}
		}
	}
	switch {
	case q.latest == "latestPerPair" && pairs > 1000:
		return "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD"
	case q.latest == "latestObservationPerPair" && len(items)*len(sites) > 250_000:
		return "RESULTS_SCOPE_TOO_BROAD"
	}
	return ""
}

// standing compares two offers of a capture by which of them stands for it:
// buy box, lowest total, lowest price. Each capture has one currency.
func (w *realWorld) standing(i, j int32) int {
	worse := func(yes, no bool) int {
		if yes == no {
			return 0
		} else if yes {
			return -1
		}
		return 1
	}
	a, b := &w.rows[i], &w.rows[j]
	box := func(r *realRow) bool { return w.sites[r.site].key == "amazon.it" && r.boxKnown && r.buyBox }
	priced, total := func(r *realRow) bool { return r.price >= 0 }, func(r *realRow) bool { return r.price >= 0 && r.shipping >= 0 }
	order := cmp.Or(worse(box(a), box(b)), worse(total(a), total(b)), worse(priced(a), priced(b)))
	if order != 0 || !priced(a) {
		return order
	}
	if total(a) {
		order = cmp.Compare(a.price+a.shipping, b.price+b.shipping)
	}
	return cmp.Or(order, cmp.Compare(a.price, b.price))
}

// answer gives the rows, in no order (RES-P11, RES-P12a, RES-P12b).
func (q *realQuestion) answer() []int32 {
	w := q.w
	candidates := w.byTime
	switch {
	case q.site == -2:
		return nil
	case q.items != nil:
		candidates = nil
		for n := range q.items {
			candidates = append(candidates, w.items[n].rows...)
		}
		w.sortByTime(candidates)
	case q.site >= 0:
		candidates = w.sites[q.site].rows
	}
	first, _ := slices.BinarySearchFunc(candidates, q.lo, func(n int32, ms int64) int { return cmp.Compare(w.rows[n].ms, ms) })
	var rows []int32
	kept := func(n int32) bool {
		return !slices.ContainsFunc(q.keep, func(keep func(*realRow) bool) bool { return !keep(&w.rows[n]) })
	}
	for _, n := range candidates[first:] {
		r := &w.rows[n]
		if r.ms > q.hi {
			break
		}
		if (q.site < 0 || q.site == r.site) && q.from(r.ms) && q.to(r.ms) && (q.latest == "latestObservationPerPair" || kept(n)) {
			rows = append(rows, n)
		}
	}
	if q.latest == "" {
		return rows
	}
	type pair struct{ site, item int32 }
	newest := map[pair][]int32{}
	for _, n := range rows { // by time, then as in the file
		p := pair{w.rows[n].site, w.rows[n].item}
		if have := newest[p]; len(have) > 0 && w.rows[have[0]].ms < w.rows[n].ms {
			newest[p] = nil
		}
		newest[p] = append(newest[p], n)
	}
	rows = nil
	for _, set := range newest {
		if q.latest == "latestPerPair" {
			rows = append(rows, slices.MinFunc(set, w.standing)) // of several the first
			continue
		}
		for _, n := range set {
			if kept(n) {
				rows = append(rows, n)
			}
		}
	}
	return rows
}

// resultsPage is a page of results whose rows stay as they came.
type resultsPage struct {
	Data   []json.RawMessage `json:"data"`
	Paging struct {
		Limit      int    `json:"limit"`
		Returned   int    `json:"returned"`
		NextCursor string `json:"nextCursor"`
	} `json:"paging"`
	Query struct {
		Scope                    string `json:"scope"`
		Timezone                 string `json:"timezone"`
		Sort                     string `json:"sort"`
		LatestPerPair            bool   `json:"latestPerPair"`
		LatestObservationPerPair bool   `json:"latestObservationPerPair"`
	} `json:"query"`
}

// ask walks the pages of the answer, reads it as a stream, and compares both
// with the oracle's.
func (q *realQuestion) ask(rnd *rand.Rand) (rows int, refused bool, err error) {
	if code := q.refusal(); code != "" {
		for _, path := range []string{"/v1/results", "/v1/results/stream"} { // RES-14a
			status, body := q.w.client.get(path, q.params)
			var problem struct {
				Code string `json:"code"`
			}
			if err := json.Unmarshal(body, &problem); err != nil || status != http.StatusBadRequest || problem.Code != code {
				return 0, true, fmt.Errorf("%s: %d %.300s, want %s", path, status, body, code)
			}
		}
		return 0, true, nil
	}
	want := q.answer()
	paged, cursors, err := q.walk(rnd, len(want))
	if err != nil {
		return 0, false, err
	}
	if err := q.compare(paged, want); err != nil {
		return 0, false, err
	}
	scope := "scoped"
	if q.params.Get("globalScope") != "" {
		scope = "global"
	}
	// The stream is the same, line for line (STR-00a, RES-14a, RES-04e).
	if rnd.IntN(2) == 0 {
		streamed, err := q.stream(q.params, scope)
		if err != nil {
			return 0, false, err
		}
		if err := sameLines(streamed, paged); err != nil {
			return 0, false, fmt.Errorf("stream and pages: %w", err)
		}
	}
	// A stream goes on where a page ended.
	if len(cursors) > 0 && rnd.IntN(4) == 0 {
		c := pick(rnd, cursors)
		params := cloned(q.params)
		params.Set("cursor", c.cursor)
		rest, err := q.stream(params, scope)
		if err != nil {
			return 0, false, fmt.Errorf("stream from a cursor: %w", err)
		}
		if err := sameLines(rest, paged[c.after:]); err != nil {
			return 0, false, fmt.Errorf("stream from a cursor: %w", err)
		}
	}
	// The other sort is the reverse (RES-P09).
	if rnd.IntN(5) == 0 {
		params := cloned(q.params)
		params.Set("sort", "asc")
		if q.params.Get("sort") == "asc" {
			params.Set("sort", "desc")
		}
		reverse, err := q.stream(params, scope)
		if err != nil {
			return 0, false, err
		}
		slices.Reverse(reverse)
		if err := sameLines(reverse, paged); err != nil {
			return 0, false, fmt.Errorf("the other sort is not the reverse: %w", err)
		}
	}
	return len(paged), false, nil
}

func cloned(params url.Values) url.Values {
	c := url.Values{}
	for k, v := range params {
		c[k] = v
	}
	return c
}

// placed is a cursor and the number of rows before it.
type placed struct {
	cursor string
	after  int
}

// walk reads all pages at a random limit (RES-P01, RES-P02, RES-Q1, RES-Q2, CUR-01a, CUR-01b).
func (q *realQuestion) walk(rnd *rand.Rand, expected int) (rows []json.RawMessage, cursors []placed, err error) {
	params := cloned(q.params)
	limit := 100
	if expected > 800 || rnd.IntN(3) > 0 {
		limit = min(10_000, 1+expected/(1+rnd.IntN(6))+rnd.IntN(3))
		params.Set("limit", strconv.Itoa(limit))
	}
	want := resultsPage{}.Query
	want.Scope, want.Timezone, want.Sort = "scoped", cmp.Or(q.params.Get("timezone"), "UTC"), cmp.Or(q.params.Get("sort"), "desc")
	want.LatestPerPair, want.LatestObservationPerPair = q.latest == "latestPerPair", q.latest == "latestObservationPerPair"
	if q.params.Get("globalScope") != "" {
		want.Scope = "global" // RES-04d
	}
	for {
		status, body := q.w.client.get("/v1/results", params)
		if status != http.StatusOK {
			return nil, nil, fmt.Errorf("%d %.300s", status, body)
		}
		var page resultsPage
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, nil, err
		}
		if page.Paging.Returned != len(page.Data) || page.Paging.Limit != limit || len(page.Data) > limit || page.Query != want {
			return nil, nil, fmt.Errorf("page of %d rows with %+v %+v, want limit %d %+v", len(page.Data), page.Paging, page.Query, limit, want)
		}
		rows = append(rows, page.Data...)
		if page.Paging.NextCursor == "" {
			return rows, cursors, nil
		}
		if len(rows) > expected {
			return nil, nil, fmt.Errorf("%d rows and more to come, want %d", len(rows), expected)
		}
		cursors = append(cursors, placed{page.Paging.NextCursor, len(rows)})
		params.Set("cursor", page.Paging.NextCursor)
	}
}

// stream reads all lines (STR-00b, STR-Q1); the trailers say that it is whole.
func (q *realQuestion) stream(params url.Values, scope string) (rows []json.RawMessage, err error) {
	header, trailer, err := q.w.client.stream("/v1/results/stream", params, func(line []byte) error {
		rows = append(rows, slices.Clone(line))
		return nil
	})
	if err == nil && (header.Get("X-Results-Scope") != scope || trailer.Get("X-Results-Returned") != strconv.Itoa(len(rows))) {
		err = fmt.Errorf("stream of %d rows with %v %v", len(rows), header, trailer)
	}
	return rows, err
}

func sameLines(got, want []json.RawMessage) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Errorf("row %d is\n%s, want\n%s", i, got[i], want[i])
		}
	}
	return nil
}

// compare wants exactly the oracle's rows, in the order of their times (RES-P09, CUR-01c).
func (q *realQuestion) compare(got []json.RawMessage, want []int32) error {
	expected := map[string]int{}
	for _, n := range want {
		text, err := json.Marshal(q.shown(&q.w.rows[n]))
		if err != nil {
			return err
		}
		expected[string(text)]++
	}
	var previous time.Time
	for i, raw := range got {
		row := map[string]any{}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&row); err != nil {
			return err
		}
		captured, _ := row["capturedAt"].(string)
		at, err := time.Parse(time.RFC3339, captured)
		if err != nil {
			return err
		}
		if descending := q.params.Get("sort") != "asc"; i > 0 && (descending && at.After(previous) || !descending && at.Before(previous)) {
			return fmt.Errorf("row %d is out of order", i)
		}
		previous = at
		text, err := json.Marshal(numbersByValue(row))
		if err != nil {
			return err
		}
		if expected[string(text)]--; expected[string(text)] < 0 {
			return fmt.Errorf("%d rows, want %d; row %d is none of the oracle's, such as %s:\n%s", len(got), len(want), i, oneOf(expected), text)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d; missing: %s", len(got), len(want), oneOf(expected))
	}
	return nil
}

func oneOf(rows map[string]int) string {
	for text, n := range rows {
		if n > 0 {
			return "\n" + text
		}
	}
	return "none"
}

// numbersByValue makes numbers comparable: 1.50 is 1.5.
func numbersByValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return v
		}
		return "number " + r.RatString()
	case map[string]any:
		for k := range v {
			v[k] = numbersByValue(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbersByValue(v[i])
		}
	}
	return v
}

// shown is the row as the service should show it to this question.
func (q *realQuestion) shown(r *realRow) map[string]any {
	w, it := q.w, q.w.items[r.item]
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	number := func(minor int64) string { return "number " + big.NewRat(minor, 100).RatString() }
	out := map[string]any{
		"itemId": it.id, "site": w.sites[r.site].key, "capturedAt": instantText(r.ms, q.loc), // RES-P10, FLD-01a, FLD-01b
		"availability": r.availability(), "currencyCode": text(w.texts[r.currency]), "merchant": text(w.texts[r.merchant]),
	}
	amount := func(name, money string, minor int64) {
		if out[name], out[money] = nil, nil; minor >= 0 {
			out[name] = number(minor)
			out[money] = map[string]any{"value": number(minor), "amountMinor": "number " + strconv.FormatInt(minor, 10), "currencyCode": w.texts[r.currency]}
		}
	}
	amount("price", "priceMoney", r.price)
	on := func(group string) bool { return q.params.Get(group) == "true" }
	if on("includeIdentity") {
		out["ean"] = nil
		if it.gtin != "" {
			out["ean"] = it.shownEAN()
		}
		out["pzn"], out["asin"], out["asinLocale"] = text(it.pzn), text(it.asin), text(it.locale)
		out["productName"], out["brand"], out["manufacturer"] = text(it.name), text(it.brand), nil
	}
	if on("includeOrderIds") {
		out["orderIds"] = []any{w.sites[r.site].orderID}
	}
	if on("includeCustomerData") {
		out["customerData"] = map[string]any{}
	}
	if on("includeCoverage") {
		out["coverageState"] = r.coverageState()
		for _, n := range slices.Backward(it.rows) { // the newest capture of the pair
			if w.rows[n].site == r.site {
				out["lastProcessedAt"] = instantText(w.rows[n].ms, q.loc)
				break
			}
		}
	}
	if on("includeExportFields") {
		out["productUrl"], out["offerTitle"], out["deliveryText"] = text(w.texts[r.url]), text(w.texts[r.title]), text(w.texts[r.delivery])
		out["manufacturer"], out["customerReferencePrices"] = nil, []any{}
		amount("shippingCost", "shippingCostMoney", r.shipping)
		total := int64(-1)
		if r.price >= 0 && r.shipping >= 0 {
			total = r.price + r.shipping
		}
		amount("totalPrice", "totalPriceMoney", total)
		// FLD-03a, FLD-03b: only a canonical country market has a buy box. FLD-02d: no source has prime.
		if w.sites[r.site].key == "amazon.it" && r.boxKnown {
			out["isBuyBox"] = r.buyBox
		}
	}
	return out
}

// shownEAN is the EAN in the form that is fittest to show: 13 digits, else 12,
// 14, 8, of those in which the file writes it.
func (it *realItem) shownEAN() string {
	for _, n := range []int{13, 12, 14, 8} {
		for form := range it.forms {
			if len(form) == 11 {
				form = "0" + form
			}
			if len(form) == n {
				return form
			}
		}
	}
	return ""
}

// randomLookup asks /v1/items by an identifier (ITEM-00a, VIS-02).
func (w *realWorld) randomLookup(rnd *rand.Rand, other *realWorld) (kind string, err error) {
	kind = pick(rnd, []string{"ean", "ean", "ean", "wrong ean", "itemId", "foreign"})
	if len(w.byGTIN) == 0 {
		kind = pick(rnd, []string{"pzn", "asin", "itemId", "foreign"})
	}
	params := url.Values{}
	var want []int32
	n := int32(rnd.IntN(len(w.items)))
	switch kind {
	case "ean": // written in any length
		n = w.randomItem(rnd, func(it *realItem) bool { return it.gtin != "" })
		want = w.byGTIN[w.items[n].gtin]
		params.Set("ean", eanForm(rnd, w.items[n].gtin))
	case "wrong ean": // kept as the site's own key, and no EAN of anything
		n = w.randomItem(rnd, func(it *realItem) bool { return it.gtin == "" && len(it.written) >= 8 && len(it.written) <= 14 })
		params.Set("ean", w.items[n].written)
	case "pzn":
		n = w.randomItem(rnd, func(it *realItem) bool { return it.pzn != "" })
		want = []int32{n}
		params.Set("pzn", w.items[n].pzn)
	case "asin":
		n = w.randomItem(rnd, func(it *realItem) bool { return it.asin != "" })
		want = []int32{n}
		params.Set("asin", w.items[n].asin)
		params.Set("asinLocale", w.items[n].locale)
	case "itemId":
		want = []int32{n}
		params.Set("itemId", w.items[n].id)
	case "foreign":
		params.Set("itemId", pick(rnd, other.items).id)
	}
	var page apiItems
	if err := w.client.list("/v1/items", params, &page); err != nil {
		return kind, err
	}
	var ids, wanted []string
	for _, it := range page.Data {
		ids = append(ids, it.ItemID)
	}
	for _, n := range want {
		wanted = append(wanted, w.items[n].id)
	}
	slices.Sort(ids)
	slices.Sort(wanted)
	if !slices.Equal(ids, wanted) {
		err = fmt.Errorf("/v1/items?%s gives %v, want %v", params.Encode(), ids, wanted)
	}
	return kind, err
}
