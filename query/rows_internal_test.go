package query

import (
	"context"
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
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
func (n *nowhere) Lines(ndjson []byte, rows int) error {
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
				must(t, s.take(t.Context(), b))
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
