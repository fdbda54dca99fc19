package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// --- everything

// compareSites reads all sites (SITE-K1): an account sees its own (VIS-05).
func (w *realWorld) compareSites(t *testing.T) {
	t.Helper()
	var page struct {
		Data []struct {
			Site                   string `json:"site"`
			CurrencyCode           string `json:"currencyCode"`
			CanonicalCountryMarket bool   `json:"canonicalCountryMarket"`
		} `json:"data"`
	}
	must.Do(t, w.client.list("/v1/sites", nil, &page))
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

// rowSet identifies a set of rows by two sums of their hashes, regardless of
// order.
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

// compareEverything reads every row of every site as streams, and requires the
// rows of each item at each site to be exactly those of the file (RES-K1,
// RES-P03a, FLD-01a). It learns the ids of items on the way; an item at several
// sites must have the same id everywhere.
func (w *realWorld) compareEverything(t *testing.T) {
	t.Helper()
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	type task struct {
		site   int32
		params url.Values
	}
	tasks := make(chan task, 256)
	for n, s := range w.sites {
		// Adjacent windows: one ends a millisecond before the next begins.
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
			siteOfOrder[order] = s.key
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
			if list := ids[c]; len(list) > 0 { // twins that differ only in their name may be swapped
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

// append writes what both sides of the comparison have of a row.
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

// compareCatalogue walks all items in pages (ITEM-00b): each is one of the
// oracle's, with the name and brand that were captured last.
func (w *realWorld) compareCatalogue(t *testing.T) {
	t.Helper()
	byID := map[string]*realItem{}
	for _, it := range w.items {
		byID[it.id] = it
	}
	params, seen := url.Values{"limit": {"1000"}}, 0
	for {
		var page apiItems
		must.Do(t, w.client.list("/v1/items", params, &page))
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

// record returns the item as the service should show it; the EAN may be in any
// of the forms that the file uses.
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
