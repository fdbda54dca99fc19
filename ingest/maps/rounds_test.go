package maps

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// phc looks like a hash, but is of no password.
const phc = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2g"

const plainMapping = `
source: test
columns:
  site: site
  productKey: key
  capturedAt: {column: at, layouts: [unix]}
  price: price
  availability: {column: stock, yes: ["1"], no: ["0"]}
  merchant: seller
defaultSite: {type: shop, country: DE, currency: EUR}
`

// Whatever the order of the rows and however few of them fit in memory, every
// row is in one offer or rejected, and each capture is one observation, always
// the same one.
func TestEveryRowIsAccountedFor(t *testing.T) {
	m := must.Get(ParseMapping([]byte(plainMapping)))(t)
	dir := t.TempDir()
	effort.Check(t, 25, func(t *rapid.T) {
		pick := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
		rows := make([]string, 1+pick("rows", 60))
		for i := range rows {
			rows[i] = fmt.Sprintf("s%d,k%d,%d,%s,%s,m%d", pick("site", 2), pick("key", 3), 1_700_000_000+pick("at", 4),
				[]string{"1.00", "2.00", "", "x"}[pick("price", 4)], []string{"", "1", "0"}[pick("stock", 3)], pick("seller", 2))
		}
		var want string
		for _, limit := range []int{1_000, 7, 1} {
			file := filepath.Join(dir, "rows.csv")
			text := "site,key,at,price,stock,seller\n" + strings.Join(append(slices.Clone(rows), ""), "\n")
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			seen := map[string]bool{}
			var got []string
			inEvents := 0
			sum, err := run(context.Background(), Request{
				File: file, Mapping: m, Mandate: "M", Login: "l", PasswordHash: phc, Now: time.Now,
			}, func(_ context.Context, e *event.Event) error {
				if _, err := event.Encode(e); err != nil {
					return err
				}
				d, ok := e.Data.(*contracts.Observations)
				if !ok {
					return nil
				}
				for _, o := range d.Observations {
					key := fmt.Sprintf("%s %d %d", d.Site, o.ItemID, o.CapturedAt.Unix())
					if seen[key] {
						t.Fatalf("two observations of %s", key)
					}
					seen[key] = true
					inEvents += o.Rows()
					b, err := json.Marshal(o.Offers)
					if err != nil {
						return err
					}
					got = append(got, key+" "+o.Outcome.String()+" "+string(b))
				}
				return nil
			}, limit)
			must.Do(t, err)
			if sum.Rows != len(rows) || sum.Accepted != inEvents || sum.Accepted+sum.Rejected != len(rows) {
				t.Fatalf("%d rows, %d accepted, %d in events, %d rejected", sum.Rows, sum.Accepted, inEvents, sum.Rejected)
			}
			slices.Sort(got)
			all := strings.Join(got, "\n")
			if limit == 1_000 {
				want = all
			} else if all != want {
				t.Fatalf("limit %d: %s", limit, cmp.Diff(want, all))
			}
		}
	})
}

// Rows that wait to be sorted, or for their batch to fill, hold only their own
// texts in memory, and not the columns that nothing reads.
func TestMemoryOfWideRows(t *testing.T) {
	m := must.Get(ParseMapping([]byte(plainMapping)))(t)
	const products, columnBytes = 3_000, 10_000
	file := filepath.Join(t.TempDir(), "wide.csv")
	for _, sorted := range []bool{false, true} {
		var text strings.Builder
		text.WriteString("site,key,at,price,stock,seller,page\n")
		page := strings.Repeat("<p>x</p>", columnBytes/8)
		for i := range 2 * products {
			product, seller := i/2, i%2
			if !sorted {
				product, seller = i%products, i/products
			}
			fmt.Fprintf(&text, "s%d,k%d,1700000000,1.00,1,m%d,%s\n", product%30, product, seller, page)
		}
		must.Do(t, os.WriteFile(file, []byte(text.String()), 0o600))
		text.Reset()
		heap := func() int {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			return int(stats.HeapAlloc)
		}
		before, grown := heap(), -1
		sum := must.Get(run(context.Background(), Request{File: file, Mapping: m, Mandate: "M", Login: "l", PasswordHash: phc}, func(_ context.Context, e *event.Event) error {
			if e.Kind == event.KindObservations && grown < 0 {
				grown = heap() - before
			}
			return nil
		}, rowsInMemory))(t)
		if sorted != (sum.SortedRows == 0) || sum.Accepted != 2*products || grown < 0 || grown > 15<<20 {
			t.Errorf("sorted %v: %d rows sorted, %d accepted, %d MiB", sorted, sum.SortedRows, sum.Accepted, grown>>20)
		}
	}
}

// Rounds are as many as the rows that are sorted, or their texts, need.
func TestRounds(t *testing.T) {
	for _, c := range []struct{ rows, bytes, want int }{{0, 0, 1}, {10, 1, 1}, {11, 1, 2}, {1, bytesInMemory + 1, 2}, {100, bytesInMemory, 10}, {10, 5 * bytesInMemory, 5}} {
		b := &book{ordered: []*site{{pairs: map[contracts.ItemID]*pair{1: {loose: true, rows: c.rows, bytes: c.bytes}, 2: {rows: 1000, bytes: 99 * bytesInMemory}}}}}
		if loose, got := b.rounds(10); got != c.want || loose != c.rows {
			t.Errorf("%+v: %d rounds of %d rows", c, got, loose)
		}
	}
}

func TestBytesBoundsTheJSONForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("<>&\"\\\x00\n\u2028é"))))
		r := row{said: said{
			price: contracts.MaxAmountMinor, shipping: contracts.MaxAmountMinor, currency: "EUR", prime: contracts.FlagFalse, buyBox: contracts.FlagFalse,
			merchant: text.Draw(t, "merchant"), title: text.Draw(t, "title"), url: text.Draw(t, "url"), maker: text.Draw(t, "maker"), delivery: text.Draw(t, "delivery"), rating: text.Draw(t, "rating"),
		}}
		b := must.Get(json.Marshal(r.offer()))(t)
		if len(b) >= r.bytes() {
			t.Fatalf("%d bytes, bound %d: %s", len(b), r.bytes(), b)
		}
		o, err := json.Marshal(contracts.Observation{ItemID: 1<<63 - 1, CapturedAt: time.UnixMilli(1_700_000_000_123).UTC(), Outcome: contracts.AccessRestricted})
		if err != nil || len(o) >= observationBytes {
			t.Fatal(len(o), err)
		}
	})
}

func TestSqueeze(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune(" a\n\tbé\u00a0\u3000"))).Draw(t, "s")
		if got, want := squeeze(s), strings.Join(strings.Fields(s), " "); got != want {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
	})
}

// columnsUpset is a mapping that reads every kind of field.
const columnsUpset = `
source: test
csv: {delimiter: ";", lazyQuotes: true}
columns:
  site: {column: s, values: {x: y}}
  productKey: k
  ean: {column: e, padTo12: true}
  pzn: {column: z, pad: 8}
  asin: a
  asinLocale: {column: l, value: de}
  name: {columns: [n, k]}
  capturedAt: {column: t, layouts: [rfc3339, datetime, day, "02.01.06 3PM", unixMillis], zone: Asia/Kolkata}
  price: {column: p, decimal: ",", thousands: ".", strip: ["€"], missing: unknown}
  shipping: {column: h, minor: true, zero: [free]}
  currency: {column: c, value: JPY}
  isPrime: f
  rating: k
  url: n
defaultSite: {type: shop, country: DE, currency: EUR}
`

func FuzzImport(f *testing.F) {
	var mappings []*Mapping
	for _, text := range []string{plainMapping, columnsUpset} {
		m := must.Get(ParseMapping([]byte(text)))(f)
		mappings = append(mappings, m)
	}
	f.Add(false, []byte("site,key,at,price,stock,seller\ns,k,1700000000,1,1,m\ns,\"k\nx\",1700000000,,0,\ns,k,1700000000,1,1,m\n\"s,k"))
	f.Add(true, []byte("s;k;e;z;a;l;n;t;p;h;c;f\nx;1;4006381333931;123406;B0EXAMPLE1;it;N;2026-01-01;1.234,5 €;free;EUR;true\nx;2;96385074;;;;N;01.02.25 4PM;;5;;\nX;;;;b0example1;;;1700000000000;5;;USD;no\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, second bool, csv []byte) {
		m := mappings[0]
		if second {
			m = mappings[1]
		}
		file := filepath.Join(dir, "fuzz.csv")
		must.Do(t, os.WriteFile(file, csv, 0o600))
		rows, ids := 0, [2][]string{}
		for i := range ids {
			sum, err := run(context.Background(), Request{File: file, Mapping: m, Mandate: "M", Login: "l", PasswordHash: phc}, func(_ context.Context, e *event.Event) error {
				if _, err := event.Encode(e); err != nil {
					t.Fatalf("an event that is not valid: %v", err)
				}
				if e.Kind == event.KindObservations { // others are of the moment
					ids[i] = append(ids[i], e.ID)
				}
				if d, ok := e.Data.(*contracts.Observations); ok && i == 0 {
					for _, o := range d.Observations {
						rows += o.Rows()
					}
				}
				return nil
			}, 3)
			if err != nil {
				if fault.KindOf(err) != fault.Invalid {
					t.Fatal(err)
				}
				return
			}
			if sum.Accepted+sum.Rejected != sum.Rows || sum.Accepted != rows {
				t.Fatalf("%d rows, %d accepted, %d in events, %d rejected", sum.Rows, sum.Accepted, rows, sum.Rejected)
			}
		}
		if !slices.Equal(ids[0], ids[1]) {
			t.Fatal("two runs differ")
		}
	})
}

func FuzzMapping(f *testing.F) {
	for _, name := range []string{"example", "observations", "marketplace-offers"} {
		b := must.Get(BuiltinFile(name))(f)
		f.Add(b)
	}
	f.Add([]byte(columnsUpset))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseMapping(text)
		if err != nil {
			return
		}
		var header []string
		for _, field := range m.fields() {
			header = append(header, field.Columns...)
		}
		slices.Sort(header)
		must.Get(m.find(slices.Compact(header)))(t)
	})
}
