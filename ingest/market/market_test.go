package market_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

var update = flag.Bool("update", false, "write the golden files again")

var now = time.Date(2026, 11, 21, 8, 3, 17, 0, time.UTC)

func newMarket(t testing.TB, cfg market.Config) *market.Market {
	t.Helper()
	if cfg.Now.IsZero() {
		cfg.Now = now
	}
	m := must.Get(market.New(cfg))(t)
	return m
}

func encode(t testing.TB, e *event.Event) []byte {
	t.Helper()
	b, err := event.Encode(e)
	if err != nil {
		t.Fatalf("event %s (%s): %v", e.ID, e.Kind, err)
	}
	return b
}

func encodeAll(t testing.TB, events iter.Seq[*event.Event]) (all [][]byte) {
	t.Helper()
	for e := range events {
		all = append(all, encode(t, e))
	}
	return all
}

func same(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: event %d differs:\n%.300s\n%.300s", what, i, got[i], want[i])
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	from := now.Add(-30 * time.Hour)
	cfg := market.Config{Seed: 7, Scale: 0.05}
	a, b := newMarket(t, cfg), newMarket(t, cfg)
	same(t, "catalogue", encodeAll(t, a.Catalog()), encodeAll(t, b.Catalog()))
	whole := encodeAll(t, a.Observations(from, now))
	same(t, "observations", encodeAll(t, b.Observations(from, now)), whole)
	if !cmp.Equal(a.Accounts(), b.Accounts()) {
		t.Error("accounts differ")
	}

	other := newMarket(t, market.Config{Seed: 8, Scale: 0.05})
	for e := range other.Observations(from, now) {
		if bytes.Equal(encode(t, e), whole[0]) {
			t.Error("another seed gives the same events")
		}
		break
	}
	if other.Accounts()[0].Password == a.Accounts()[0].Password {
		t.Error("another seed gives the same passwords")
	}
}

// Ranges of any size, requested in any order, together give what the whole
// gives.
func TestRangesAdjoin(t *testing.T) {
	from := now.Add(-30 * time.Hour)
	m := newMarket(t, market.Config{Seed: 7, Scale: 0.05})
	whole := encodeAll(t, m.Observations(from, now))

	random := rand.New(rand.NewPCG(1, 2))
	bounds := []time.Time{from, now}
	for range 60 {
		bounds = append(bounds, from.Add(time.Duration(random.Int64N(int64(now.Sub(from)))).Truncate(time.Millisecond)))
	}
	slices.SortFunc(bounds, time.Time.Compare)
	parts := make([][][]byte, len(bounds)-1)
	for _, i := range random.Perm(len(parts)) {
		parts[i] = encodeAll(t, newMarket(t, market.Config{Seed: 7, Scale: 0.05}).Observations(bounds[i], bounds[i+1]))
	}
	same(t, "parts", slices.Concat(parts...), whole)

	if got := encodeAll(t, m.Observations(now, from)); len(got) != 0 {
		t.Errorf("a range that ends before it starts gives %d events", len(got))
	}
}

// A second start gives unchanged records with the same bytes, and adds new
// ones.
func TestSecondStart(t *testing.T) {
	start := now.AddDate(0, 0, -14)
	first := newMarket(t, market.Config{Seed: 3, Scale: 0.05, Start: start})
	second := newMarket(t, market.Config{Seed: 3, Scale: 0.05, Start: start, Now: now.Add(50 * time.Hour)})
	bySubject := map[string][]byte{}
	for e := range second.Catalog() {
		if _, twice := bySubject[e.Subject()]; twice {
			t.Errorf("subject %s comes twice", e.Subject())
		}
		bySubject[e.Subject()] = encode(t, e)
	}
	n := 0
	for e := range first.Catalog() {
		n++
		b, ok := bySubject[e.Subject()]
		if !ok {
			t.Errorf("%s is gone", e.Subject())
		}
		if e.Kind != event.KindOrder && !bytes.Equal(b, encode(t, e)) {
			t.Errorf("%s changed", e.Subject())
		}
	}
	if len(bySubject) <= n {
		t.Errorf("two days added no archives: %d records, before %d", len(bySubject), n)
	}
}

func TestEveryEventIsValid(t *testing.T) {
	small := newMarket(t, market.Config{Seed: 5, Scale: 0.01})
	demo, _ := full(t)
	for m, days := range map[*market.Market]int{small: 14, demo: 0} { // TestFortnight encodes the days at full size, TestSameSeedSameBytes some of 0.05
		biggest, ids := 0, map[string]bool{}
		check := func(e *event.Event) {
			biggest = max(biggest, len(encode(t, e)))
			if ids[e.ID] {
				t.Fatalf("event id %s comes twice", e.ID)
			}
			ids[e.ID] = true
		}
		for e := range m.Catalog() {
			check(e)
		}
		for e := range m.Observations(now.AddDate(0, 0, -days), now) {
			check(e)
		}
		for e := range m.LiveCaptures(now, now.Add(time.Minute)) {
			check(e)
		}
		t.Logf("%d days: %d events, the biggest of %d bytes", days, len(ids), biggest)
	}
}

// A large market keeps the limits of the contract, too.
func TestLargeScale(t *testing.T) {
	m := newMarket(t, market.Config{Seed: 5, Scale: 8})
	records := map[event.Kind]int{}
	for e := range m.Catalog() {
		if e.Kind == event.KindOrder || records[e.Kind] < 300 {
			encode(t, e)
		}
		records[e.Kind]++
	}
	if records[event.KindItem] != 12_000 || records[event.KindMandate] != 32 {
		t.Errorf("records %v", records)
	}
	for e := range m.Observations(now.Add(-time.Hour), now) {
		encode(t, e)
	}
}

// Everything that the market shows is marked as simulated.
func TestHonesty(t *testing.T) {
	m := newMarket(t, market.Config{Seed: 1, Scale: 0.1})
	marked := func(what, s string) {
		t.Helper()
		if low := strings.ToLower(s); !strings.Contains(low, "demo") && !strings.Contains(low, "démo") && !strings.Contains(s, "デモ") && !strings.Contains(low, "simulated") {
			t.Errorf("%s %q does not say that it is simulated", what, s)
		}
	}
	for e := range m.Catalog() {
		marked("producer", e.Producer)
		switch d := e.Data.(type) {
		case *contracts.Site:
			marked("site", d.Name)
			if !strings.Contains(d.Name, "simulated") || !strings.HasSuffix(string(d.Site), ".example") || !strings.HasPrefix(string(d.Site), "demo-") {
				t.Errorf("site %q, %q", d.Site, d.Name)
			}
		case *contracts.Mandate:
			if !strings.HasSuffix(d.Name, "(simulated)") {
				t.Errorf("mandate %q", d.Name)
			}
		case *contracts.Account:
			if !strings.HasSuffix(d.LoginIdentifier, ".example") {
				t.Errorf("account %q", d.LoginIdentifier)
			}
		case *contracts.Item:
			if d.Manufacturer != "" {
				marked("manufacturer", d.Manufacturer)
			}
		}
	}
	for e := range m.Observations(now.Add(-24*time.Hour), now) {
		b := e.Data.(*contracts.Observations)
		for _, o := range b.Observations {
			for _, of := range o.Offers {
				marked("title", of.Title)
				if of.Merchant != "" {
					marked("merchant", of.Merchant)
				}
				if !strings.HasPrefix(of.URL, "https://www."+string(b.Site)+"/") {
					t.Fatalf("url %q at %s", of.URL, b.Site)
				}
			}
		}
	}
}

// At depends only on its arguments, is valid, and equals what the runs publish.
func TestAt(t *testing.T) {
	m := newMarket(t, market.Config{Seed: 11, Scale: 0.05})
	again := newMarket(t, market.Config{Seed: 11, Scale: 0.05})
	for e := range m.Observations(now.Add(-6*time.Hour), now) {
		b := e.Data.(*contracts.Observations)
		for _, want := range b.Observations {
			got, ok := again.At(contracts.Pair{Item: want.ItemID, Site: b.Site}, want.CapturedAt)
			if !ok || !cmp.Equal(got, want) {
				t.Fatalf("%s", cmp.Diff(want, got))
			}
		}
	}
	pairs := m.Pairs()
	rapid.Check(t, func(t *rapid.T) {
		pair := rapid.SampledFrom(pairs).Draw(t, "pair")
		at := time.UnixMilli(rapid.Int64Range(1_704_300_000_000, 4_102_000_000_000).Draw(t, "at")).UTC()
		a, ok := m.At(pair, at)
		if err := a.Validate(); !ok || err != nil {
			t.Fatalf("%v at %s: %v", pair, at, err)
		}
		if b, _ := again.At(pair, at); !cmp.Equal(a, b) {
			t.Fatalf("%s", cmp.Diff(a, b))
		}
	})
	if _, ok := m.At(contracts.Pair{Item: 1, Site: "demo-markt-de.example"}, now); ok {
		t.Error("a pair that is not captured was captured")
	}
}

// Live fills the time since its start, continues second by second, in order,
// and stops with its context.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(300 * time.Millisecond)))
		m := newMarket(t, market.Config{Seed: 2, Scale: 0.2, LiveRate: 3})
		from := now.Add(-3 * time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute+3*time.Second)
		defer cancel()
		runs, extra, orders, last := [][]byte{}, map[int64]int{}, 0, from
		for e := range m.Live(ctx, from) {
			b := encode(t, e)
			if e.ProducedAt.Before(last) && e.Kind == event.KindObservations {
				t.Fatalf("%s comes after %s", e.ProducedAt, last)
			}
			if e.ProducedAt.After(time.Now()) {
				t.Fatalf("an event of %s at %s", e.ProducedAt, time.Now())
			}
			d, ok := e.Data.(*contracts.Observations)
			switch {
			case !ok:
				orders++
				continue
			case strings.HasPrefix(d.Run, "live-"):
				extra[e.ProducedAt.Unix()]++
			default:
				runs = append(runs, b)
			}
			last = e.ProducedAt
		}
		end := now.Add(20 * time.Minute)
		same(t, "runs", runs, encodeAll(t, m.Observations(from, last.Truncate(3*time.Second).Add(3*time.Second))))
		for sec := now.Unix(); sec < end.Unix(); sec++ {
			if extra[sec] != 3 {
				t.Fatalf("second %d has %d captures more", sec-now.Unix(), extra[sec])
			}
		}
		if len(extra) > 20*60+3 {
			t.Errorf("captures in %d seconds of 20 minutes", len(extra))
		}
		if want := 10; orders != want { // the clock passed one quarter of an hour
			t.Errorf("%d order events, want %d", orders, want)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, cfg := range []market.Config{
		{},
		{Now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Now: now, Start: now.Add(time.Hour)},
		{Now: now, Scale: -1},
		{Now: now, Scale: 1e6},
		{Now: now, LiveRate: 1e6},
	} {
		if _, err := market.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	equals.Checkf(t, string(want), got, "%s is stale; see the difference and run with -update", path)
}

func TestCatalogSummary(t *testing.T) {
	m, _ := full(t)
	var b strings.Builder
	b.WriteString(m.Describe())
	kinds := map[event.Kind]int{}
	var items []contracts.Item
	orders := map[string]string{}
	for e := range m.Catalog() {
		kinds[e.Kind]++
		switch d := e.Data.(type) {
		case *contracts.Item:
			items = append(items, *d)
		case *contracts.Order:
			orders[d.Alias] = fmt.Sprintf("%4d items at %d sites, active %t, %s", len(d.Items), len(d.Sites), d.Active, d.Name)
		}
	}
	b.WriteString("\nRecords\n")
	for _, k := range event.Kinds()[1:] {
		fmt.Fprintf(&b, "  %5d %s\n", kinds[k], k)
	}
	b.WriteString("\nOrders\n")
	for _, alias := range slices.Sorted(func(yield func(string) bool) {
		for k := range orders {
			if !yield(k) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "  %-18s %s\n", alias, orders[alias])
	}
	b.WriteString("\nLogins\n")
	for _, a := range m.Accounts() {
		fmt.Fprintf(&b, "  %-42s %s\n", a.LoginIdentifier, a.Sees)
	}
	b.WriteString("\nSome items\n")
	for i := 0; i < len(items); i += 53 {
		it := items[i]
		fmt.Fprintf(&b, "  %s ean %q pzn %q asin %q %q by %q, %q\n", it.ItemID, it.EAN, it.PZN, it.ASIN+"/"+it.ASINLocale, it.Name, it.Brand, it.Manufacturer)
	}
	golden(t, "catalog.golden", b.String())
}
