package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

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
