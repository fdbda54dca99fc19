package query

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query/admission"
	"preismon/query/frame"
)

// wideBlock has rows like those of observations: many items, few sites,
// merchants and currencies, distinct texts with letters beyond ASCII.
func wideBlock(rows int) *Block {
	b := &Block{Len: rows}
	words := func(d *Dict, n int, form string) {
		for i := range n {
			d.Values.Append(fmt.Sprintf(form, i))
		}
	}
	words(&b.Site, 40, "shop-%02d.example")
	words(&b.Merchant, 500, "Händler \"%d\" GmbH & Co. KG")
	words(&b.Manufacturer, 20, "Hersteller %d")
	words(&b.DeliveryText, 10, "Lieferung in %d Tagen")
	b.Currency.Values.Append("EUR")
	for i := range rows {
		b.Item = append(b.Item, uint64(1_000_000+i%997))
		b.Site.Index = append(b.Site.Index, uint32(i%40))
		b.CapturedMs = append(b.CapturedMs, 1_772_000_000_000-int64(i)*437)
		b.Epoch, b.Seq, b.Capture, b.Offer = append(b.Epoch, 1), append(b.Seq, uint64(i)), append(b.Capture, 0), append(b.Offer, 0)
		b.Outcome = append(b.Outcome, uint8(contracts.PriceObserved))
		b.Currency.Index = append(b.Currency.Index, 0)
		b.PriceMinor = append(b.PriceMinor, int64(100+i%99_999))
		b.Merchant.Index = append(b.Merchant.Index, uint32(i%500))
		b.ShippingMinor = append(b.ShippingMinor, int64(i%3)*199-1)
		b.IsPrime, b.IsBuyBox, b.RatingTenths = append(b.IsPrime, uint8(i%3)), append(b.IsBuyBox, uint8(i%3)), append(b.RatingTenths, 43)
		b.Manufacturer.Index = append(b.Manufacturer.Index, uint32(i%20))
		b.DeliveryText.Index = append(b.DeliveryText.Index, uint32(i%10))
		b.Title.Append("Nordklang XK-4711 Kopfhörer mit Geräuschunterdrückung \"Pro\", mintgrün")
		b.URL.Append(fmt.Sprintf("https://shop-%02d.example/p/nordklang-xk-4711?variant=%d", i%40, i))
	}
	return b
}

// references is a store that has only reference prices.
type references struct{ Store }

func (references) ReferencePrices(_ context.Context, _ Visibility, items []contracts.ItemID) (all []contracts.ReferencePrices, err error) {
	for _, item := range items[:len(items)/2] {
		all = append(all, contracts.ReferencePrices{ItemID: item, Prices: []contracts.ReferencePrice{
			{AmountMinor: 1999, CurrencyCode: "EUR", PriceType: "RRP"}, {AmountMinor: 1899, CurrencyCode: "EUR", AppliesToSite: "shop-03.example"},
		}})
	}
	return all, nil
}

type nowhere struct{ bytes, rows int }

func (*nowhere) Holds() int64       { return 0 }
func (*nowhere) Start(string) error { return nil }
func (n *nowhere) Send(ndjson []byte, rows int) error {
	n.bytes, n.rows = n.bytes+len(ndjson), n.rows+rows
	return nil
}

func testStreamer(export bool, to ResultsStream) *streamer {
	plan := &resultsPlan{zone: time.UTC, include: Include{ExportFields: export}}
	facts := siteFacts{"shop-01.example": {CanonicalCountryMarket: true}, "shop-02.example": {PriceComparisonMarket: true, CountryCode: "DE"}}
	in := &read{resultsPlan: plan, encoder: newRowEncoder(plan, facts, newEnrichment(plan.include, &remembering{Store: references{}}, Visibility{}))}
	node := admission.New(admission.Defaults())
	holds, err := node.Begin(context.Background(), true, 0)
	if err != nil {
		panic(err)
	}
	return &streamer{in: in, w: to, maxLine: 64 << 20, stats: new(stats), node: node, holds: holds}
}

// TestRowsAllocateNothing: what a block of rows allocates does not depend on
// its number of rows, after the buffers of the stream have grown.
func TestRowsAllocateNothing(t *testing.T) {
	for _, export := range []bool{false, true} {
		for _, rows := range []int{1_000, 64_000} {
			var to nowhere
			s, b := testStreamer(export, &to), wideBlock(rows)
			allocs := testing.AllocsPerRun(5, func() {
				must.Do(t, s.take(t.Context(), b))
			})
			if to.rows != 6*rows || to.bytes < 200*to.rows {
				t.Fatalf("%d rows, %d bytes", to.rows, to.bytes)
			}
			if allocs > 2 {
				t.Errorf("export %t: %.0f allocations for a block of %d rows", export, allocs, rows)
			}
		}
	}
}

// everyRecord is a store whose rows have every field of their items and pairs.
type everyRecord struct{ fullRecords }

func (e everyRecord) ItemRecords(ctx context.Context, items []contracts.ItemID) ([]contracts.Item, error) {
	all, err := e.fullRecords.ItemRecords(ctx, items)
	for i := range all {
		all[i].PZN, all[i].ASIN, all[i].ASINLocale = "01234562", "B000000001", "de"
	}
	return all, err
}

func (everyRecord) LastProcessed(_ context.Context, _ Visibility, items []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	all := map[contracts.Pair]time.Time{}
	for n, item := range items {
		for site := range n % 41 {
			all[contracts.Pair{Item: item, Site: contracts.SiteKey(fmt.Sprintf("shop-%02d.example", site))}] = time.UnixMilli(1_772_000_000_000)
		}
	}
	return all, nil
}

// An array has, for each field and each member of an object, what the object of
// the row has, and null for what it lacks.
func TestArraysHaveWhatObjectsHave(t *testing.T) {
	include := Include{Coverage: true, OrderIDs: true, CustomerData: true, ExportFields: true, Identity: true}
	var names []string
	for _, c := range Columns(include.Fields()) {
		names = append(names, c.Name)
		if c.Kind == frame.Object {
			for _, m := range c.Members {
				names = append(names, c.Name+"."+m.Name)
			}
		}
	}
	b := wideBlock(300)
	b.Currency.Values.Append("")
	b.Currency.Values.Append("JPY")
	for i := range b.Len {
		b.Currency.Index[i] = uint32(i % 3)
		if i%5 == 0 {
			b.PriceMinor[i] = -1
		}
	}
	encoder := func() *rowEncoder {
		plan := &resultsPlan{zone: time.UTC, include: include}
		facts := siteFacts{"shop-01.example": {CanonicalCountryMarket: true}, "shop-02.example": {PriceComparisonMarket: true, CountryCode: "DE"}}
		e := newRowEncoder(plan, facts, newEnrichment(include, &remembering{Store: everyRecord{}}, Visibility{}))
		must.Do(t, e.rich.load(t.Context(), b))
		return e
	}
	objects := encoder()
	objects.begin(b)
	some := map[string]int{}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		chosen := slices.Clone(names)
		rnd.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
		chosen = chosen[:1+rnd.IntN(len(chosen))]
		arrays := encoder()
		arrays.choose(append(chosen, "unheardOf"))
		arrays.begin(b)
		for i := range b.Len {
			var object map[string]json.RawMessage
			must.Do(t, json.Unmarshal(objects.append(nil, b, i), &object))
			want := "["
			for _, name := range chosen {
				outer, inner, nested := strings.Cut(name, ".")
				value := object[outer]
				if nested && value != nil {
					var members map[string]json.RawMessage
					must.Do(t, json.Unmarshal(value, &members))
					value = members[inner]
				}
				if value == nil {
					value = json.RawMessage("null")
				} else if string(value) != "null" {
					some[name]++
				}
				want += string(value) + ","
			}
			want += "null]"
			if got := string(arrays.append(nil, b, i)); got != want {
				t.Fatalf("%v\n%s\nwant\n%s", chosen, got, want)
			}
		}
	}
	for _, name := range names {
		if some[name] == 0 {
			t.Errorf("no row has %s", name)
		}
	}
}
