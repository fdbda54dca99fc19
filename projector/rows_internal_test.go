package projector

import (
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
)

// captures returns one event with n captures.
func captures(n int) []freshEvent {
	o := &contracts.Observations{Site: "shop.example"}
	for i := range n {
		price := int64(i)
		o.Observations = append(o.Observations, contracts.Observation{
			ItemID: contracts.ItemID(1 + i), CapturedAt: time.UnixMilli(1_790_000_000_000), Outcome: contracts.PriceObserved,
			Offers: []contracts.Offer{{
				Merchant: fmt.Sprint("merchant ", i%200), Price: &price, CurrencyCode: "EUR", Title: "Product of a usual length of title, 500 ml",
				URL: fmt.Sprintf("https://www.shop.example/product/%d", i),
			}},
		})
	}
	return []freshEvent{{at: position{1, 1}, data: o}}
}

// build builds a block of the events, for two mandates that see every pair, and
// encodes its columns for sending.
func build(b *block, todo []freshEvent, buf *proto.Buffer) {
	mandates := [...]uint64{1, 2}
	b.reset()
	b.reserve(todo)
	for i := range todo {
		for j := range todo[i].data.Observations {
			b.add(todo[i].at, string(todo[i].data.Site), j, &todo[i].data.Observations[j], mandates[:])
		}
	}
	for _, c := range b.byMandate() {
		buf.Reset()
		c.Data.EncodeColumn(buf)
	}
}

// A block that is reused costs a constant number of allocations, however many
// rows it has.
func TestBlockAllocatesPerBlockNotPerRow(t *testing.T) {
	per := func(n int) float64 {
		b, todo, buf := newBlock(), captures(n), new(proto.Buffer)
		build(b, todo, buf)
		return testing.AllocsPerRun(20, func() { build(b, todo, buf) })
	}
	if few, many := per(10), per(20_000); many > few+20 { // not thousands; a garbage collection in between costs some
		t.Errorf("%v allocations for 10 rows, %v for 20,000", few, many)
	}
}
