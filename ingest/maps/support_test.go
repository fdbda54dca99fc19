package maps_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// head is the mapping that most tests use.
const head = `
source: test
columns:
  site: shop
  productKey: sku
  ean: {column: ean, padTo12: true}
  name: name
  capturedAt: {column: at, zone: Europe/Berlin}
  price: price
  shipping: ship
  currency: cur
  availability: {column: stock, yes: ["yes"], no: ["no"]}
  merchant: seller
  isBuyBox: {column: box, yes: ["1"], no: ["0"]}
  url: link
sites:
  a.example: {name: A, type: shop, country: DE, currency: EUR}
  "Shop B": {site: b.example, name: B, type: marketplace, country: JP, currency: JPY, zone: Asia/Tokyo}
`

const header = "shop,sku,ean,name,at,price,ship,cur,stock,seller,box,link,extra\n"

// result is what one import gave.
type result struct {
	sum     *maps.Summary
	events  []*event.Event
	rejects string
}

func importText(t testing.TB, mapping, csv string) (*result, error) {
	t.Helper()
	m := must.Get(maps.ParseMapping([]byte(mapping)))(t)
	file := filepath.Join(t.TempDir(), "file.csv")
	must.Do(t, os.WriteFile(file, []byte(csv), 0o600))
	return importFile(t, m, file)
}

// phc returns what looks like a hash with that salt, but is of no password.
func phc(salt string) string { return "$argon2id$v=19$m=8,t=1,p=1$" + salt + "$aGFzaGhhc2g" }

// salts counts the salts used: none is used twice, as in real hashes.
var salts int

func importFile(t testing.TB, m *maps.Mapping, file string) (*result, error) {
	t.Helper()
	var rejects bytes.Buffer
	salts++
	salt := fmt.Sprintf("c2FsdHNhbHQ%d", salts)
	r := &result{}
	var err error
	r.sum, err = maps.Import(t.Context(), maps.Request{
		File: file, Mapping: m, Mandate: "M", Login: " Me@Example.com", PasswordHash: phc(salt), Rejects: &rejects,
		Now: func() time.Time { return now },
	}, func(_ context.Context, e *event.Event) error {
		b, err := event.Encode(e)
		if err != nil {
			return err
		}
		back, err := event.Decode(b)
		r.events = append(r.events, back)
		return err
	})
	r.rejects = rejects.String()
	return r, err
}

func mustImport(t testing.TB, mapping, csv string) *result {
	t.Helper()
	r := must.Get(importText(t, mapping, csv))(t)
	return r
}

// observed returns the observations of the events, one line per offer.
func (r *result) observed() string {
	var b strings.Builder
	for _, e := range r.events {
		d, ok := e.Data.(*contracts.Observations)
		if !ok {
			continue
		}
		for _, o := range d.Observations {
			fmt.Fprintf(&b, "%s %s %s %s\n", d.Site, r.name(o.ItemID), o.CapturedAt.Format(time.RFC3339), o.Outcome)
			for _, f := range o.Offers {
				fmt.Fprintf(&b, "  %s\n", offerText(f))
			}
		}
	}
	return b.String()
}

func offerText(f contracts.Offer) string {
	amount := func(v *int64) string {
		if v == nil {
			return "-"
		}
		return contracts.Money{AmountMinor: *v, CurrencyCode: f.CurrencyCode}.String()
	}
	s := fmt.Sprintf("%s +%s", amount(f.Price), amount(f.Shipping))
	for _, v := range []string{f.Merchant, f.Title, f.URL, f.DeliveryText, string(f.Rating)} {
		if v != "" {
			s += " [" + v + "]"
		}
	}
	if f.IsBuyBox != contracts.FlagUnknown {
		s += fmt.Sprintf(" box=%t", f.IsBuyBox == contracts.FlagTrue)
	}
	return s
}

func (r *result) name(id contracts.ItemID) string {
	for _, e := range r.events {
		if it, ok := e.Data.(*contracts.Item); ok && it.ItemID == id {
			return it.Name
		}
	}
	return "?"
}

func all[T any](r *result) []*T {
	var list []*T
	for _, e := range r.events {
		if d, ok := e.Data.(any).(*T); ok {
			list = append(list, d)
		}
	}
	return list
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	equals.Checkf(t, strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(got), "\n"), "-want +got")
}
