package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

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

// --- questions

// zonesAsked are zones of the data and of its oddities: clocks that change
// within the data's time, at midnight in some of them, and odd offsets.
var zonesAsked = []string{
	"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Jerusalem", "Europe/Helsinki", "Europe/Rome",
	"America/Santiago", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Africa/Casablanca", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Kiritimati",
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
