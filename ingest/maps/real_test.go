package maps_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest/maps"
)

// realFile finds a file of real observations. They have no licence and are no
// part of the project, so that the test can only run where they lie beside it.
func realFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	file := filepath.Join(filepath.Dir(dir), "shared", "data", name)
	if _, err := os.Stat(file); err != nil {
		t.Logf("NOT RUN on real data: there is no ../shared/data/%s beside the repository", name)
		t.Skip("no ../shared/data beside the repository")
	}
	return file
}

func TestRealMarketplaceOffers(t *testing.T) {
	got := importReal(t, "marketplace_offers.csv.gz", "marketplace-offers")
	s := got.sum
	if s.Rows != 2157 || s.Accepted != 2157-72 || s.Rejected != 72 {
		t.Errorf("%d rows, %d accepted, %d rejected; want 2157, 2085, 72", s.Rows, s.Accepted, s.Rejected)
	}
	if len(s.RejectedBy) != 1 || s.RejectedBy[0].What != "exact duplicate" {
		t.Errorf("rejected by %v, want exact duplicates alone", s.RejectedBy)
	}
	if s.Items != 22 || s.PZNs != 10 || s.ASINs != 12 {
		t.Errorf("%d items, %d PZN, %d ASIN; want 22, 10, 12", s.Items, s.PZNs, s.ASINs)
	}
	zones := map[string]string{"amazon.it": "Europe/Rome", "apomio.de": "Europe/Berlin"}
	got.agree(t, "marketplace_offers.csv.gz", 2157, true, func(cell func(string) string) string {
		delivery := cell("shipping_days")
		if delivery != "" {
			delivery += " days"
		}
		key := offerKey(cell("site"), instant(t, cell("captured_at"), zones[cell("site")]), cents(cell("price")), cents(cell("shipping_price")),
			cell("currency"), cell("merchant"), cell("url"), delivery, false)
		return key + "|" + cell("is_buybox") + "|" + cell("asin") + strings.TrimLeft(cell("pzn"), "0")
	})
}

// importReal imports a file twice and wants the same events.
func importReal(t *testing.T, name, mapping string) *collected {
	t.Helper()
	file := realFile(t, name)
	m, err := maps.Builtin(mapping)
	if err != nil {
		t.Fatal(err)
	}
	var runs [2]*collected
	for i := range runs {
		c := &collected{ids: map[string]bool{}, items: map[contracts.ItemID]*contracts.Item{}, offers: map[string]int{}}
		var rejects bytes.Buffer
		c.sum, err = maps.Import(t.Context(), maps.Request{
			File: file, Mapping: m, Mandate: "Real", Login: "Real@Example.com", PasswordHash: phc("c2FsdHNhbHQ"), Rejects: &rejects,
			Now: func() time.Time { return time.Now().Add(time.Duration(i) * time.Hour) },
		}, c.publish)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(rejects.Bytes(), []byte("\n")); n != c.sum.Rejected {
			t.Errorf("%d lines of rejects, %d rejected", n, c.sum.Rejected)
		}
		runs[i] = c
	}
	a, b := runs[0], runs[1]
	if a.rows != a.sum.Accepted {
		t.Errorf("events hold %d rows, the summary accepts %d", a.rows, a.sum.Accepted)
	}
	for id := range a.ids {
		if !b.ids[id] {
			t.Fatalf("event %s is not in the second run", id)
		}
	}
	if len(a.ids) != len(b.ids) || len(a.ids) != a.sum.Events-1 {
		t.Errorf("%d and %d event ids for %d events", len(a.ids), len(b.ids), a.sum.Events)
	}
	rate := func(d time.Duration) float64 { return float64(a.sum.Rows) / d.Seconds() }
	t.Logf("\n%s\nread %v (%.0f rows/s), published with encoding and this test's own counting %v (%.0f rows/s)", a.sum, a.sum.ReadTime, rate(a.sum.ReadTime), a.sum.PublishTime, rate(a.sum.PublishTime))
	m2, _ := maps.Builtin(mapping)
	dry, err := maps.Check(t.Context(), maps.Request{File: file, Mapping: m2})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("check alone: read %v, second pass without encoding %v (%.0f rows/s)", dry.ReadTime, dry.PublishTime, rate(dry.PublishTime))
	return a
}

type collected struct {
	sum    *maps.Summary
	ids    map[string]bool // of all but the account
	rows   int
	items  map[contracts.ItemID]*contracts.Item
	offers map[string]int
}

func offerKey(site, at, price, shipping, currency, title, url, delivery string, unavailable bool) string {
	return strings.Join([]string{site, at, price, shipping, currency, title, url, delivery, strconv.FormatBool(unavailable)}, "|")
}

func (c *collected) publish(_ context.Context, e *event.Event) error {
	if _, err := event.Encode(e); err != nil {
		return err
	}
	if e.Kind != event.KindAccount {
		c.ids[e.ID] = true
	}
	if it, ok := e.Data.(*contracts.Item); ok {
		c.items[it.ItemID] = it
	}
	d, ok := e.Data.(*contracts.Observations)
	if !ok {
		return nil
	}
	amount := func(v *int64) string {
		if v == nil {
			return ""
		}
		return strings.TrimLeft(strconv.FormatInt(*v, 10), "0")
	}
	for _, o := range d.Observations {
		c.rows += o.Rows()
		it := c.items[o.ItemID]
		if it == nil {
			return fmt.Errorf("no item %d", o.ItemID)
		}
		for _, f := range o.Offers {
			key := offerKey(string(d.Site), o.CapturedAt.Format(time.RFC3339), amount(f.Price), amount(f.Shipping), string(f.CurrencyCode),
				f.Merchant+f.Title, f.URL, f.DeliveryText, o.Outcome == contracts.Unavailable)
			if it.PZN != "" || it.ASIN != "" {
				box := ""
				if f.IsBuyBox != contracts.FlagUnknown {
					box = strconv.FormatBool(f.IsBuyBox == contracts.FlagTrue)
				}
				key += "|" + box + "|" + it.ASIN + strings.TrimLeft(it.PZN, "0")
			}
			c.offers[key]++
		}
	}
	return nil
}

// agree reads the file without this package and wants every row of it among
// the offers, but for duplicates when the file is said to have them.
func (c *collected) agree(t *testing.T, name string, want int, duplicates bool, key func(cell func(string) string) string) {
	t.Helper()
	f, err := os.Open(realFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(z)
	header, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	n, wrong, seen := 0, 0, map[string]bool{}
	for ; ; n++ {
		rec, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		k := key(func(column string) string { return rec[slices.Index(header, column)] })
		if duplicates && seen[k] {
			continue
		}
		seen[k] = true
		if c.offers[k]--; c.offers[k] < 0 {
			if wrong++; wrong <= 5 {
				t.Errorf("row %d is in no offer", n+1)
			}
		}
	}
	if n != want || wrong > 0 {
		t.Errorf("the file has %d rows, want %d; %d are in no offer", n, want, wrong)
	}
	left := 0
	for _, n := range c.offers {
		left += max(n, 0)
	}
	if left > 0 {
		t.Errorf("%d offers are no row of the file", left)
	}
}

// instant reads a time of the files in a zone.
func instant(t *testing.T, s, zone string) string {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	if len(s) == len(time.DateOnly) {
		s += "T12:00:00"
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05", strings.TrimSuffix(s, "Z"), loc)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC().Format(time.RFC3339)
}

// cents reads an amount of at most two decimals.
func cents(s string) string {
	whole, frac, _ := strings.Cut(s, ".")
	return strings.TrimLeft(whole+(frac + "00")[:2], "0")
}
