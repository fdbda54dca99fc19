package projector

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

// BenchmarkInsert writes blocks of 100,000 rows to each table, one insert at
// a time: with the fence, without it, and for observations as a plain INSERT
// of native data. The forms take turns; the metric is the median.
func BenchmarkInsert(b *testing.B) {
	server := testserver.ClickHouse(b)
	if err := schema.Migrate(b.Context(), server.AdminDSN, schema.Options{}); err != nil {
		b.Fatal(err)
	}
	cfg, err := clickhouse.ParseDSN(server.ProjectorDSN)
	if err != nil {
		b.Fatal(err)
	}
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // a benchmark
	blk := newBlock()
	for i := range 100_000 {
		price := int64(i%10_000 + 500)
		item := i * 7919 % 20_000
		blk.add(place{1, uint64(i / 50)}, fmt.Sprintf("shop-%d.example", i/50%20), i%50, &contracts.Observation{
			ItemID: contracts.ItemID(1 + item), CapturedAt: time.UnixMilli(1_790_000_000_000 + int64(i)), Outcome: contracts.PriceObserved,
			Offers: []contracts.Offer{{
				Merchant: fmt.Sprint("merchant ", i%200), Price: &price, CurrencyCode: "EUR", Rating: "4.5", Manufacturer: fmt.Sprint("maker ", item%300),
				Title: fmt.Sprintf("Product %d of a usual length of title, 500 ml", item), DeliveryText: "1 to 3 days",
				URL: fmt.Sprintf("https://www.shop.example/product/%d", item),
			}},
		}, []uint64{1})
	}
	for _, table := range []string{"observations", "observations_by_mandate", "latest_observations"} {
		b.Run(table, func(b *testing.B) {
			sql := question("insert_" + table)
			in := map[string]proto.Input{"observations": blk.observations(), "observations_by_mandate": blk.byMandate(), "latest_observations": blk.latest()}[table]
			forms := map[string]ch.Query{
				"fenced":   {Body: sql, Input: in},
				"unfenced": {Body: sql[:strings.Index(sql, "WHERE")] + "FORMAT Native", Input: in},
			}
			if table == "observations" {
				plain := slices.Clone(in)
				at := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
				for _, ms := range blk.capturedAt {
					at.Data = append(at.Data, proto.DateTime64(ms))
				}
				plain[2] = proto.InputColumn{Name: "captured_at", Data: at}
				forms["plain"] = ch.Query{Body: plain.Into(table), Input: plain}
			}
			took := map[string][]float64{}
			for b.Loop() {
				for form, q := range forms {
					q.Parameters = ch.Parameters(args{"partition": 0, "fence": 1, "begun": 0})
					q.Settings = writeSettings
					began := time.Now()
					if err := pool.Do(b.Context(), q); err != nil {
						b.Fatal(form, err)
					}
					took[form] = append(took[form], time.Since(began).Seconds())
				}
			}
			for form, t := range took {
				slices.Sort(t)
				b.ReportMetric(100_000/t[len(t)/2], form+"-rows/s")
			}
		})
	}
}
