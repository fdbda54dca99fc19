package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// listAll follows a list to its end and returns one field of each record.
func listAll(t *testing.T, c *api, path, field string) []string {
	t.Helper()
	values := []string{}
	params := url.Values{"limit": {"100"}}
	for range 1000 {
		status, body := c.get(path, params)
		var page struct {
			Data   []map[string]any `json:"data"`
			Paging struct {
				NextCursor *string `json:"nextCursor"`
			} `json:"paging"`
		}
		if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil {
			t.Fatalf("GET %s: %d %s %v", path, status, body, err)
		}
		for _, record := range page.Data {
			values = append(values, fmt.Sprint(record[field]))
		}
		if page.Paging.NextCursor == nil {
			slices.Sort(values)
			return values
		}
		params.Set("cursor", *page.Paging.NextCursor)
	}
	t.Fatalf("GET %s has no end", path)
	return nil
}

// results reads a window to its end, for accounts of any size.
func results(t *testing.T, c *api, from, to time.Time) []row {
	t.Helper()
	all := []row{}
	const form = "2006-01-02T15:04:05.000Z"
	_, _, err := c.stream("/v1/results/stream", url.Values{
		"globalScope": {"true"}, "capturedFrom": {from.UTC().Format(form)}, "capturedTo": {to.UTC().Format(form)},
	}, func(line []byte) error {
		var r row
		err := json.Unmarshal(line, &r)
		all = append(all, r)
		return err
	})
	if err != nil {
		t.Fatalf("stream of %v to %v: %v", from, to, err)
	}
	return all
}

// row is a result as a caller sees it.
type row struct {
	ItemID       contracts.ItemID  `json:"itemId"`
	Site         contracts.SiteKey `json:"site"`
	CapturedAt   time.Time         `json:"capturedAt"`
	Availability string            `json:"availability"`
	Price        json.Number       `json:"price"`
	PriceMoney   *struct {
		AmountMinor  int64  `json:"amountMinor"`
		CurrencyCode string `json:"currencyCode"`
	} `json:"priceMoney"`
	CurrencyCode string `json:"currencyCode"`
	Merchant     string `json:"merchant"`
}

// seen is a row without differences that are only spelling.
type seen struct {
	Item         contracts.ItemID
	Site         contracts.SiteKey
	At           int64
	Availability string
	Currency     string
	Minor        int64
	Price        string
	Merchant     string
}

func seenOf(rows []row) []seen {
	all := make([]seen, len(rows))
	for i, r := range rows {
		all[i] = seen{r.ItemID, r.Site, r.CapturedAt.UnixMilli(), r.Availability, r.CurrencyCode, -1, r.Price.String(), r.Merchant}
		if r.PriceMoney != nil {
			all[i].Minor, all[i].Currency = r.PriceMoney.AmountMinor, r.PriceMoney.CurrencyCode
		}
	}
	return sorted(all)
}

func sorted(all []seen) []seen {
	slices.SortFunc(all, func(a, b seen) int {
		return cmp.Or(
			cmp.Compare(a.Item, b.Item), cmp.Compare(a.Site, b.Site), cmp.Compare(a.At, b.At), strings.Compare(a.Merchant, b.Merchant),
			strings.Compare(a.Availability, b.Availability), strings.Compare(a.Currency, b.Currency), cmp.Compare(a.Minor, b.Minor), strings.Compare(a.Price, b.Price),
		)
	})
	return all
}

// due returns the rows of a window according to the events.
func (d *demoTest) due(from, to time.Time, pairs map[contracts.Pair]bool) []seen {
	all := []seen{}
	for e := range d.market.Observations(from, to.Add(d.market.MaxDelay())) {
		batch := e.Data.(*contracts.Observations)
		for _, o := range batch.Observations {
			if !pairs[contracts.Pair{Item: o.ItemID, Site: batch.Site}] || o.CapturedAt.Before(from) || !o.CapturedAt.Before(to) {
				continue
			}
			s := seen{Item: o.ItemID, Site: batch.Site, At: o.CapturedAt.UnixMilli(), Availability: map[contracts.Outcome]string{
				contracts.PriceObserved: "AVAILABLE", contracts.Unavailable: "UNAVAILABLE", contracts.ProductNotFound: "UNAVAILABLE",
				contracts.OutcomeUnknown: "UNKNOWN", contracts.AccessRestricted: "UNKNOWN", contracts.SiteUnavailable: "UNKNOWN",
			}[o.Outcome], Minor: -1}
			if len(o.Offers) == 0 {
				all = append(all, s)
			}
			for _, f := range o.Offers {
				r := s
				r.Merchant, r.Currency = f.Merchant, string(f.CurrencyCode)
				if f.Price != nil {
					r.Minor, r.Price = *f.Price, decimalText(*f.Price, string(f.CurrencyCode))
				}
				all = append(all, r)
			}
		}
	}
	return sorted(all)
}

// decimalText formats an amount in main units, with all the decimals that its
// currency has in ISO 4217.
func decimalText(minor int64, currency string) string {
	n := map[string]int{"EUR": 2, "JPY": 0, "KWD": 3}[currency]
	text := fmt.Sprintf("%0*d", n+1, minor)
	if n > 0 {
		text = text[:len(text)-n] + "." + text[len(text)-n:]
	}
	return text
}

// orders returns the current orders of all mandates.
func (d *demoTest) orders(t *testing.T) map[contracts.MandateID][]*contracts.Order {
	t.Helper()
	all := must.Get(ingest.Orders(t.Context(), d.up.bus(t).js))(t)
	of := map[contracts.MandateID][]*contracts.Order{}
	for _, o := range all {
		of[o.MandateID] = append(of[o.MandateID], o)
	}
	return of
}

// compareSeen returns how the sites, items and rows that an account sees differ
// from those of its scope, and counts the items.
func (d *demoTest) compareSeen(t *testing.T, world catalog, login string, from, to time.Time, counts map[string]int) (wrong []string) {
	t.Helper()
	name, _, _ := strings.Cut(login, "@")
	c := d.client(t, name)
	pairs := world.visible(login)
	sites, items := map[string]bool{}, map[string]bool{}
	for p := range pairs {
		sites[string(p.Site)], items[p.Item.String()] = true, true
	}
	if diff := gocmp.Diff(keysOf(sites), listAll(t, c, "/v1/sites", "site")); diff != "" {
		wrong = append(wrong, "sites (-want +got):\n"+diff)
	}
	got := listAll(t, c, "/v1/items", "itemId")
	if diff := gocmp.Diff(keysOf(items), got); diff != "" {
		wrong = append(wrong, "items (-want +got):\n"+diff)
	}
	counts[name] = len(got)
	want := d.due(from, to, pairs)
	rows := results(t, c, from, to)
	if name == "gustav" {
		if len(got)+len(rows) != 0 {
			wrong = append(wrong, fmt.Sprintf("with an empty scope: %d items, %d rows", len(got), len(rows)))
		}
	} else if len(want) == 0 {
		wrong = append(wrong, "nothing to see: the test proves nothing")
	}
	if diff := gocmp.Diff(want, normalPrices(seenOf(rows))); diff != "" {
		wrong = append(wrong, fmt.Sprintf("%d rows, want %d (-want +got):\n%.2000s", len(rows), len(want), diff))
	}
	return wrong
}

// whatTheySee: every account sees its own scope completely, and nothing else
// (GEN-02, AUTH-01a, VIS-01a, VIS-01b, VIS-05).
func (d *demoTest) whatTheySee(t *testing.T) {
	world := catalogOf(d.market)
	to := d.state.Start.Add(demoDays).Add(-d.market.MaxDelay()).Truncate(time.Hour) // all late observations are in
	from := to.Add(-24 * time.Hour)
	counts := map[string]int{}
	for _, a := range d.accounts {
		name, _, _ := strings.Cut(a.LoginIdentifier, "@")
		if world.accounts[a.LoginIdentifier].Administrative {
			continue
		}
		t.Run(name, func(t *testing.T) {
			wrong := d.compareSeen(t, world, a.LoginIdentifier, from, to, counts)
			if len(wrong) > 0 { // an order watches something newer with each quarter of an hour
				world.orders = d.orders(t)
				wrong = d.compareSeen(t, world, a.LoginIdentifier, from, to, counts)
			}
			for _, text := range wrong {
				t.Error(text)
			}
		})
	}
	if counts["hanna"] == 0 || counts["hanna"] > 10 || counts["anna"] <= counts["hanna"] { // see TestRoles for a package that is too small
		t.Errorf("items by account: %v", counts)
	}
	if sites := listAll(t, d.client(t, "clara"), "/v1/sites", "site"); len(sites) != 2 {
		t.Errorf("clara sees %v", sites)
	}
	if sites := listAll(t, d.client(t, "anna"), "/v1/sites", "site"); len(sites) != 8 {
		t.Errorf("anna sees %v", sites)
	}
}

// normalPrices formats prices with all decimals of their currency, because in
// JSON 10.50 and 10.5 are the same number.
func normalPrices(all []seen) []seen {
	for i := range all {
		if all[i].Minor < 0 {
			all[i].Currency = strings.TrimSpace(all[i].Currency)
			continue
		}
		var a, b float64
		want := decimalText(all[i].Minor, all[i].Currency)
		_, _ = fmt.Sscan(all[i].Price, &a)
		_, _ = fmt.Sscan(want, &b)
		if a == b {
			all[i].Price = want
		}
	}
	return sorted(all)
}
