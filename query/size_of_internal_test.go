package query

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
)

// TestSizeOf compares the size that a remembered answer is counted with with
// what it takes of the heap, so that a cache stays within its bytes.
func TestSizeOf(t *testing.T) {
	text := func(n, length int) string { return strings.Clone(strings.Repeat(fmt.Sprint(n), length)[:length]) }
	for name, build := range map[string]func(n int) any{
		"items": func(n int) any {
			var all []contracts.Item
			for i := range 100 {
				all = append(all, contracts.Item{ItemID: contracts.ItemID(n + i), EAN: text(n, 13), Name: text(i, 50), Brand: text(i, 9), Manufacturer: text(n, 9)})
			}
			return &all
		},
		"orders": func(n int) any {
			var all []contracts.Order
			for i := range 5 {
				o := contracts.Order{Name: text(n, 20), CreatedAt: time.Now().Local()}
				for k := range 20 * (i + 1) {
					o.Items, o.Sites = append(o.Items, contracts.ItemID(k)), append(o.Sites, contracts.SiteKey(text(k, 16)))
				}
				all = append(all, o)
			}
			return &all
		},
		"rows": func(n int) any {
			copied := newRowsCopy(&ResultsQuery{Export: true})
			for i := range 700 {
				b := &Block{
					Len: 1, Item: []uint64{uint64(i)}, CapturedMs: []int64{int64(n)}, Epoch: []uint32{1}, Seq: []uint64{2}, Capture: []uint16{3}, Offer: []uint16{4}, Outcome: []uint8{1},
					PriceMinor: []int64{5}, ShippingMinor: []int64{6}, IsBuyBox: []uint8{1}, IsPrime: []uint8{1}, RatingTenths: []uint8{40},
				}
				for _, d := range []*Dict{&b.Site, &b.Currency, &b.Merchant, &b.Manufacturer, &b.DeliveryText} {
					d.Values.Append(text(i%20, 12))
					d.Index = []uint32{0}
				}
				b.Title.Append(text(i, 40))
				b.URL.Append(text(i, 60))
				copied.add(b)
			}
			return copied.block
		},
		"orders of pairs": func(n int) any {
			all := map[contracts.Pair][]contracts.OrderID{}
			for i := range 40 * (1 + n%3) {
				all[contracts.Pair{Item: contracts.ItemID(i), Site: contracts.SiteKey(text(i, 16))}] = []contracts.OrderID{1, 2}
			}
			return all
		},
		"sites": func(n int) any {
			var all []contracts.Site
			for i := range 40 {
				all = append(all, contracts.Site{Site: contracts.SiteKey(text(n, 15)), Name: text(i, 12)})
			}
			return &all
		},
	} {
		const values = 200
		kept := make([]any, values)
		before := heap()
		for n := range kept {
			kept[n] = build(n)
		}
		took := heap() - before
		counted := 0
		for _, v := range kept {
			counted += sizeOf(reflect.ValueOf(v))
		}
		runtime.KeepAlive(kept)
		ratio := float64(counted) / float64(took)
		t.Logf("%s: counted %d bytes of %d, %.2f", name, counted, took, ratio)
		if ratio < 0.95 || ratio > 1.1 {
			t.Errorf("%s: counted with %d bytes, they take %d", name, counted, took)
		}
	}
}

// heap is how many bytes are in use after a collection.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
