package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"preismon/query"
	"preismon/query/wire"
)

// pageBytes bounds what the address of the page takes in an answer about a
// file, in addition to the base URL: it has the order, and no more.
const pageBytes = 4 << 10

// pagePath is the path of the explorer, the page for people. What follows the #
// of its address determines what it shows.
const pagePath = "/explorer/"

// mostPageItems is how many products the page accepts.
const mostPageItems = 8

// paged adds to the summary of an answer, with which it begins, the address of
// the page that shows the same, as closely as the page can. The rest stays the
// body that REST returns.
func paged(ctx context.Context, s *query.Service, c Call, t tool, r Result) Result {
	if r.Failed {
		return r
	}
	q := pageQuestion{tool: t.name, given: givenIn(c.Arguments), echo: echoOf(r.Object)}
	q.items = q.itemsOf(ctx, s, c, r.Object)
	link := marshal(c.BaseURL + pagePath + "#" + plainly.Replace(q.state().Encode()))
	const begin = `{"summary":{`
	if omitted := q.omitted(); len(omitted) > 0 {
		link = slices.Concat(link, []byte(`,"pageOmits":`), marshal(omitted))
	}
	r.Object = slices.Concat([]byte(begin+`"page":`), link, []byte{','}, r.Object[len(begin):])
	return r
}

// plainly undoes the escapes that are not needed after a #.
var plainly = strings.NewReplacer("%3A", ":", "%2C", ",", "%2F", "/")

// pageQuestion is a call of a tool, to be shown on the page.
type pageQuestion struct {
	tool  string
	given map[string]string
	echo  pageEcho
	items []string
}

// pageEcho is what an answer reports about the period that it covers.
type pageEcho struct {
	CapturedFrom, CapturedTo, Since, Until string
}

// state returns the parameters of the page.
func (q pageQuestion) state() url.Values {
	state := url.Values{}
	current := q.tool == "get_market_price_position" // which moves with the time
	set := func(name, value string) {
		if value != "" {
			state.Set(name, value)
		}
	}
	set("view", q.view())
	set("site", q.given["site"])
	if state.Get("view") == "orders" {
		set("order", q.given["orderId"])
		set("filter", q.given["alias"])
	}
	for _, name := range narrowings[q.view()] {
		set(name, q.given[name])
	}
	set("items", strings.Join(q.items, ","))
	set("zone", q.given["timezone"])
	if q.tool == "list_items" {
		set("filter", q.given["name"])
	}
	set("own", q.given["candidatePrice"])
	if current && q.view() == "assortment" {
		set("sort", "-gap") // the worst first
	}
	from, to := cmp.Or(q.echo.Since, q.echo.CapturedFrom), cmp.Or(q.echo.Until, q.echo.CapturedTo)
	if q.tool == "list_result_changes" && q.given["until"] == "" {
		to = "now"
	}
	if state.Get("view") == "overview" {
		set("since", strings.Replace(q.echo.Since, ".000", "", 1))
	}
	if from != "" && to != "" && !current && (state.Get("view") == "history" || state.Get("view") == "assortment") {
		set("from", strings.Replace(from, ".000", "", 1))
		set("to", strings.Replace(to, ".000", "", 1))
	}
	return state
}

// view returns the view of the page that shows most of the call.
func (q pageQuestion) view() string {
	some := len(q.items) > 0
	switch q.tool {
	case "list_sites":
		return "sites"
	case "list_orders", "get_order_detail", "list_order_observation_quality", "list_order_export_history", "list_order_import_history",
		"download_order_export_file", "download_order_import_file":
		return "orders"
	case "list_results":
		newest := q.given["latestPerPair"] == "true" || q.given["latestObservationPerPair"] == "true"
		if newest && (some || q.given["site"] != "" || q.given["orderId"] != "") {
			return "latest"
		}
	case "list_items":
	case "list_asin_locales":
		return "assortment"
	default: // an overview has no order, and ends now
		if !some && q.given["orderId"] == "" && q.given["until"] == "" {
			return "overview"
		}
	}
	if some {
		return "history"
	}
	return "assortment"
}

// itemsOf returns the requested products: by their ids, or for another
// identifier those in the answer, or otherwise those that the service finds.
func (q pageQuestion) itemsOf(ctx context.Context, s *query.Service, c Call, object []byte) []string {
	if id := q.given["itemId"]; id != "" {
		return []string{id}
	}
	named := wire.Arguments{}
	for _, name := range []string{"ean", "pzn", "asin", "asinLocale"} {
		if value := q.given[name]; value != "" {
			named[name] = value
		}
	}
	if len(named) == 0 {
		return nil
	}
	if found := itemIDs(object); len(found) > 0 {
		return found
	}
	body, err := byArguments(wire.Items)(ctx, s, c.Principal, named)
	if err != nil {
		return nil // the page looks them up
	}
	return itemIDs(body)
}

// itemIDs returns the products in an answer, as many as the page accepts.
func itemIDs(object []byte) (all []string) {
	const member = `"itemId":"`
	for len(all) < mostPageItems {
		at := bytes.Index(object, []byte(member))
		if at < 0 {
			break
		}
		object = object[at+len(member):]
		id, _, _ := bytes.Cut(object, []byte{'"'})
		if !slices.Contains(all, string(id)) {
			all = append(all, string(id))
		}
	}
	return all
}

// givenIn returns the arguments as texts.
func givenIn(arguments json.RawMessage) map[string]string {
	var all map[string]json.RawMessage
	given := map[string]string{}
	if json.Unmarshal(arguments, &all) != nil {
		return given
	}
	for name, value := range all {
		if string(value) == "null" { // which means that it is not given
			continue
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		given[name] = text
	}
	return given
}

// echoOf returns an answer's echo of its query: its last member of that name.
// Quotes within texts are escaped, so no text can look like it.
func echoOf(object []byte) (echo pageEcho) {
	const member = `,"query":`
	if at := bytes.LastIndex(object, []byte(member)); at >= 0 {
		_ = json.NewDecoder(bytes.NewReader(object[at+len(member):])).Decode(&echo) // an echo of another form is ignored
	}
	return echo
}
