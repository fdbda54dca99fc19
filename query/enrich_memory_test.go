package query

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/admission"
	"preismon/query/frame"
)

// fullRecords is a store whose items have long texts of each kind.
type fullRecords struct{ references }

func (fullRecords) ItemRecords(_ context.Context, items []contracts.ItemID) (all []contracts.Item, err error) {
	for _, item := range items {
		all = append(all, contracts.Item{ItemID: item, EAN: "4006381333931", Name: fmt.Sprint(strings.Repeat("name ", 20), item), Brand: fmt.Sprint("brand ", item)})
	}
	return all, nil
}

func (fullRecords) CustomerData(_ context.Context, _ Visibility, items []contracts.ItemID) (all []contracts.CustomerData, err error) {
	for _, item := range items {
		fields := map[string]string{}
		for n := range 20 {
			fields[fmt.Sprint("field ", n)] = fmt.Sprint(strings.Repeat("text ", 40), item)
		}
		all = append(all, contracts.CustomerData{ItemID: item, Fields: fields})
	}
	return all, nil
}

func (fullRecords) PairOrders(_ context.Context, _ Visibility, items []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	all := map[contracts.Pair][]contracts.OrderID{}
	for _, item := range items {
		all[contracts.Pair{Item: item, Site: contracts.SiteKey(fmt.Sprint("shop-", item, ".example"))}] = []contracts.OrderID{701, 702}
	}
	return all, nil
}

func (fullRecords) LastProcessed(_ context.Context, _ Visibility, items []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	all := map[contracts.Pair]time.Time{}
	for _, item := range items {
		all[contracts.Pair{Item: item, Site: contracts.SiteKey(fmt.Sprint("shop-", item, ".example"))}] = time.UnixMilli(1_772_000_000_000)
	}
	return all, nil
}

// itemBlock is a block of rows of different items, from one on.
func itemBlock(from, rows int) *Block {
	b := wideBlock(rows)
	for i := range b.Item {
		b.Item[i] = uint64(from + i)
	}
	return b
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func enrichedStreamer(t *testing.T, include Include, to ResultsStream) *streamer {
	t.Helper()
	s := testStreamer(false, to)
	s.in.include = include
	s.in.encoder = newRowEncoder(s.in.resultsPlan, nil, newEnrichment(include, &remembering{Store: fullRecords{}}, Visibility{}))
	release := s.in.encoder.rich.chargeTo(s.holds)
	t.Cleanup(func() {
		release()
		equals.Is(t, 0, s.node.Stats().Held, "bytes are charged after the stream")
	})
	return s
}

// TestEnrichmentHoldsWhatIsCharged: what a stream keeps of thousands of
// items, with each kind of their data, is charged, and not several times as
// much; and there is an end to it.
func TestEnrichmentHoldsWhatIsCharged(t *testing.T) {
	for name, include := range map[string]Include{
		"export":   {ExportFields: true},
		"identity": {Identity: true}, "customer data": {CustomerData: true}, "orders": {OrderIDs: true}, "coverage": {Coverage: true},
		"all": {ExportFields: true, Identity: true, CustomerData: true, OrderIDs: true, Coverage: true},
	} {
		t.Run(name, func(t *testing.T) {
			const rows = 2_000
			s := enrichedStreamer(t, include, new(nowhere))
			must.Do(t, s.take(t.Context(), itemBlock(1, 1))) // its buffer
			before := liveHeap() - s.node.Stats().Held
			for n := range 8 {
				must.Do(t, s.take(t.Context(), itemBlock(1_000_000+n*rows, rows)))
				held, charged := liveHeap()-before, s.node.Stats().Held
				if most := admission.Defaults().Memory / 4; charged > most {
					t.Fatalf("after %d items %d KiB are charged, at most %d", (n+1)*rows, charged>>10, most>>10)
				}
				if held > charged+64<<10 || held < charged/3 {
					t.Fatalf("of %d items it holds %d KiB, and %d are charged", (n+1)*rows, held>>10, charged>>10)
				}
			}
			runtime.KeepAlive(s)
		})
	}
}

// waiting is a client during whose chunks other reads need all of the memory.
type waiting struct {
	bytes.Buffer
	node   *admission.Node
	chunks int
}

func (*waiting) Holds() int64       { return 0 }
func (*waiting) Start(string) error { return nil }

func (w *waiting) Send(ndjson []byte, _ int) error {
	w.Write(ndjson)
	if w.chunks++; w.node == nil || w.chunks > 2 {
		return nil
	}
	read, err := w.node.Begin(admission.WithAccount(context.Background(), 8), false, 0)
	if err != nil {
		return err
	}
	defer read.End()
	room, err := read.Reserve(context.Background(), w.node.Stats().Memory)
	if err == nil {
		room.Release()
	}
	return err
}

// TestEnrichmentIsLent: what a stream keeps of its items is given to others
// while its client takes nothing, and read again when the client goes on.
func TestEnrichmentIsLent(t *testing.T) {
	include := Include{ExportFields: true, Identity: true, CustomerData: true, OrderIDs: true, Coverage: true}
	var undisturbed, disturbed waiting
	for _, to := range []*waiting{&undisturbed, &disturbed} {
		s := enrichedStreamer(t, include, to)
		if to == &disturbed {
			to.node = s.node
		}
		for n := range 2 {
			must.Do(t, s.take(t.Context(), itemBlock(1+n*50, 100)))
		}
		if to == &disturbed && s.node.Stats().Reclaimed != 2 {
			t.Errorf("%d times memory was reclaimed, want 2", s.node.Stats().Reclaimed)
		}
	}
	if !bytes.Equal(disturbed.Bytes(), undisturbed.Bytes()) {
		t.Error("the rows differ")
	}
}

// TestBatchesAreBounded: with the longest texts that rows can have, a batch holds
// few rows; with usual ones it holds many.
func TestBatchesAreBounded(t *testing.T) {
	include := Include{ExportFields: true, Identity: true}
	long := strings.Repeat("x", 1024)
	for name, c := range map[string]struct {
		change     func(b *Block, r *contracts.Item)
		least, end int // rows of the first batch
	}{
		"usual":    {func(*Block, *contracts.Item) {}, 3_000, batchRows},
		"identity": {func(_ *Block, r *contracts.Item) { r.Name, r.Brand, r.Manufacturer = long, long[:256], long[:256] }, 500, 1_000},
		"repeated": {func(b *Block, _ *contracts.Item) {
			for d, n := range map[*Dict]int{&b.Merchant: 256, &b.Manufacturer: 256, &b.DeliveryText: 512} {
				for i := range d.Values.Spans {
					d.Values.Spans[i] = Span{From: uint32(len(d.Values.Buf)), To: uint32(len(d.Values.Buf) + n)}
				}
				d.Values.Buf = append(d.Values.Buf, long[:n]...)
			}
		}, 1_500, 2_100},
	} {
		t.Run(name, func(t *testing.T) {
			s := enrichedStreamer(t, include, new(nowhere))
			b := wideBlock(batchRows)
			must.Do(t, s.in.encoder.rich.load(t.Context(), b))
			for _, p := range s.in.encoder.rich.items {
				c.change(b, &p.record)
			}
			m := newBatcher(s.in.encoder, false)
			m.begin(b)
			batch, to := m.make(0, b.Len)
			bytes := 0
			for n, column := range Columns(include.Fields()) {
				if column.Kind == frame.Text {
					for i := range batch.Len {
						bytes += len(batch.Columns[n].Text(i))
					}
				}
			}
			if to < c.least || to > c.end || bytes > batchBytes+repeatBytes+64<<10 {
				t.Errorf("%d rows with %d KiB of texts", to, bytes>>10)
			}
		})
	}
}
