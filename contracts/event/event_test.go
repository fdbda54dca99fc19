package event_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

var update = flag.Bool("update", false, "write the golden files")

var producedAt = time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)

func ptr[T any](v T) *T { return &v }

// samples returns one event of each kind, with every field in use.
func samples() []*event.Event {
	data := map[event.Kind]event.Payload{
		event.KindObservations: &contracts.Observations{
			Site: "markt.example", Run: "2026-03-01/noon",
			Observations: []contracts.Observation{
				{ItemID: 1001, CapturedAt: producedAt.Add(-time.Minute), Outcome: contracts.PriceObserved, Offers: []contracts.Offer{
					{
						Merchant: "Kaffee & Söhne GmbH", Price: ptr(int64(1299)), Shipping: ptr(int64(0)), CurrencyCode: "EUR",
						IsPrime: contracts.FlagTrue, IsBuyBox: contracts.FlagFalse, Rating: "4.27", Manufacturer: "Rösterei",
						Title: "Espresso \"Forte\" 1 kg", URL: "https://markt.example/p/1?ref=a&x=<y>", DeliveryText: "morgen bei dir",
					},
					{Merchant: "second", Price: ptr(int64(1399)), CurrencyCode: "EUR"},
				}},
				{ItemID: 18446744073709551615, CapturedAt: producedAt.Add(-59 * time.Second), Outcome: contracts.Unavailable, Offers: []contracts.Offer{{Merchant: "third"}}},
				{ItemID: 1003, CapturedAt: producedAt.Add(-58 * time.Second), Outcome: contracts.ProductNotFound},
			},
		},
		event.KindSite: &contracts.Site{
			Site: "markt.example", Name: "Markt", SiteType: contracts.Marketplace, CountryCode: "DE", CurrencyCode: "EUR",
			Operator: "Markt SE", CanonicalCountryMarket: true, PriceComparisonMarket: true,
		},
		event.KindItem: &contracts.Item{
			ItemID: 1001, EAN: "4006381333931", PZN: "27580899", ASIN: "B00EXAMPLE", ASINLocale: "co.uk",
			Name: "Espresso Forte 1 kg", Brand: "Forte", Manufacturer: "Rösterei",
		},
		event.KindMandate: &contracts.Mandate{MandateID: 7, Name: "Rösterei AG", Package: contracts.Package{Name: "large", MaxItems: 500}},
		event.KindAccount: &contracts.Account{
			AccountID: 71, MandateID: 7, LoginIdentifier: "anna@roesterei.example",
			PasswordHash:   "$argon2id$v=19$m=65536,t=1,p=2$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g",
			Administrative: true, Disabled: true, Permissions: contracts.Permissions(),
			Scope: contracts.AccountScope{Orders: []contracts.OrderID{701, 702}, Sites: []contracts.SiteKey{"markt.example", "shop-1"}},
		},
		event.KindOrder: &contracts.Order{
			OrderID: 701, MandateID: 7, Alias: "coffee", Name: "Coffee, all shops", Active: true, CreatedAt: producedAt.AddDate(0, -1, 0),
			Items: []contracts.ItemID{1001, 1003}, Sites: []contracts.SiteKey{"markt.example"},
			Schedule: &contracts.Schedule{IntervalMinutes: 60, LastRunAt: ptr(producedAt.Add(-time.Hour)), NextRunAt: ptr(producedAt)},
			Counters: []contracts.SiteCounters{{Site: "markt.example", ConfiguredObservations: 48, ExpectedProcessedByNow: 24, ProcessedObservations: 23}},
			Legacy:   true, Memberships: []contracts.Membership{{ItemID: 1001, Sites: "markt.example, shop-1"}, {ItemID: 1003}},
		},
		event.KindReferencePrices: &contracts.ReferencePrices{MandateID: 7, ItemID: 1001, Prices: []contracts.ReferencePrice{
			{AmountMinor: 1234, CurrencyCode: "EUR", AppliesToSite: "markt.example", ReferenceQuantity: "1 kg", PriceType: "retail"},
			{AmountMinor: 0, CurrencyCode: "JPY"},
		}},
		event.KindCustomerData: &contracts.CustomerData{MandateID: 7, ItemID: 1001, Category: "Coffee/Beans", Fields: map[string]string{"shelf": "A 3", "own number": "4711"}},
		event.KindExport:       &contracts.FileJob{FileJobID: 91, MandateID: 7, OrderID: 701, Name: "daily prices", CreatedAt: producedAt},
		event.KindImport:       &contracts.FileJob{FileJobID: 92, MandateID: 7, OrderID: 701, Name: "assortment", CreatedAt: producedAt},
	}
	archive := &contracts.FileArchive{ArchiveID: 911, FileJobID: 91, MandateID: 7, OrderID: 701, ArchivedAt: producedAt, Files: []contracts.ArchivedFile{
		{Name: "prices", Filename: "prices 2026-03-01.csv", SizeBytes: 4096, SHA256: strings.Repeat("0f", 32)},
	}}
	data[event.KindExportArchive], data[event.KindImportArchive] = archive, archive
	var all []*event.Event
	for i, k := range event.Kinds() {
		all = append(all, &event.Event{
			ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1), Kind: k, Producer: "crawler-3/1.4", ProducedAt: producedAt, Data: data[k],
		})
	}
	return all
}

func schema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(event.Schema)))(tb)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must.Do(tb, c.AddResource("event.schema.json", doc))
	s := must.Get(c.Compile("event.schema.json"))(tb)
	return s
}

func check(s *jsonschema.Schema, b []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestGoldens(t *testing.T) {
	s := schema(t)
	for _, e := range samples() {
		t.Run(string(e.Kind), func(t *testing.T) {
			encoded := must.Get(event.Encode(e))(t)
			name := filepath.Join("testdata", string(e.Kind)+".json")
			if *update {
				var b bytes.Buffer
				must.Do(t, json.Indent(&b, encoded, "", "  "))
				b.WriteByte('\n')
				must.Do(t, os.WriteFile(name, b.Bytes(), 0o644))
			}
			golden, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v (run with -update)", err)
			}
			equals.NoError(t, check(s, golden), "the schema refuses the golden")
			got := must.Get(event.Decode(golden))(t)
			if d := cmp.Diff(e, got); d != "" {
				t.Error("decoded golden (-want +got):\n" + d)
			}
			var compact bytes.Buffer
			must.Do(t, json.Compact(&compact, golden))
			if d := cmp.Diff(compact.String(), string(encoded)); d != "" {
				t.Error("encoded (-golden +got):\n" + d)
			}
			if e.Kind.Stream() == "" || !strings.HasPrefix(e.Subject(), strings.ToLower(e.Kind.Stream())+".") {
				t.Errorf("stream %s, subject %s", e.Kind.Stream(), e.Subject())
			}
		})
	}
}

func TestSubjects(t *testing.T) {
	var got []string
	for _, e := range samples() {
		got = append(got, e.Subject())
	}
	want := []string{
		"observations.markt=example", "catalog.site.markt=example", "catalog.item.1001", "catalog.mandate.7", "catalog.account.7.71",
		"catalog.order.7.701", "catalog.referencePrices.7.1001", "catalog.customerData.7.1001",
		"catalog.export.7.701.91", "catalog.exportArchive.7.701.911", "catalog.import.7.701.92", "catalog.importArchive.7.701.911",
	}
	equals.Check(t, want, got)
}

func TestDecodeSettlesWhatJSONLeavesOpen(t *testing.T) {
	golden := func(k event.Kind) string {
		b := must.Get(os.ReadFile(filepath.Join("testdata", string(k)+".json")))(t)
		return string(b)
	}
	item, obs := golden(event.KindItem), golden(event.KindObservations)
	swap := func(s, old, new string) string {
		if !strings.Contains(s, old) {
			t.Fatalf("%q is not in the golden", old)
		}
		return strings.Replace(s, old, new, 1)
	}
	for _, test := range []struct{ name, in, want string }{ // want "": accepted
		{"unknown fields", swap(item, `"version"`, `"later": {"a": [1, {"b": null}]}, "version"`), ""},
		{"unknown fields twice", swap(item, `"version"`, `"later": 1, "later": 2, "version"`), ""},
		{"data before kind", swap(swap(item, `"kind": "item",`, ``), "\n}\n", ",\"kind\": \"item\"}\n"), ""},
		{"null for absent", swap(item, `"co.uk",`, `"co.uk", "manufacturer": null,`), "data.manufacturer: given twice"},
		{"null optional", swap(item, `"Forte",`, `null,`), ""},
		{"null required", swap(item, `"1001"`, `null`), "itemId: missing"},
		{"version 2", swap(item, `"version": 1`, `"version": 2`), "version: 2 is unknown"},
		{"version 2 of another form", `{"version":2,"data":[1,2]}`, "version: 2 is unknown"},
		{"no version", `{}`, "version: missing"},
		{"version as text", swap(item, `"version": 1`, `"version": "1"`), "version: not an integer"},
		{"kind", swap(item, `"kind": "item"`, `"kind": "things"`), `kind: "things" is unknown`},
		{"kind of another type", swap(item, `"kind": "item"`, `"kind": "order"`), "orderId: missing"},
		{"no data", swap(item, `"data"`, `"Data"`), "data: missing"},
		{"name in another case", swap(item, `"itemId"`, `"itemID"`), "itemId: missing"},
		{"a name twice", swap(item, `"ean"`, `"itemId": "3", "ean"`), "data.itemId: given twice"},
		{"a name twice, once null", swap(item, `"ean"`, `"itemId": null, "ean"`), "data.itemId: given twice"},
		{"a customer's field twice", swap(golden(event.KindCustomerData), `"shelf"`, `"shelf": "x", "shelf"`), "data.fields.shelf: given twice"},
		{"an escaped name", swap(item, `"itemId"`, `"item\u0049d"`), ""},
		{"NaN", swap(obs, `1299`, `NaN`), "not an integer"},
		{"huge number", swap(obs, `1299`, `1e400`), "data.observations[0].offers[0].price: not an integer"},
		{"beyond 64 bits", swap(obs, `1299`, `9223372036854775808`), "data.observations[0].offers[0].price: not an integer"},
		{"beyond what JSON readers hold", swap(obs, `1299`, `9007199254740992`), "price: outside"},
		{"fraction", swap(obs, `1299`, `1299.0`), "not an integer"},
		{"leading zero", swap(obs, `1299`, `01299`), "not an event"},
		{"huge number as rating", swap(obs, `"4.27"`, `1e999`), ""},
		{"huge number in an unknown field", swap(item, `"version"`, `"later": 1e999999, "version"`), ""},
		{"NUL in a text", swap(item, `"Forte"`, `"\u0000"`), ""},
		{"NUL between tokens", swap(item, `"version"`, "\x00\"version\""), "not an event: unexpected '\\x00'"},
		{"NUL behind", item + "\x00", "not an event: unexpected '\\x00'"},
		{"a bare control character", swap(item, `"Forte"`, "\"a\nb\""), "not an event: unexpected '\\n'"},
		{"half a surrogate pair", swap(item, `"Forte"`, `"\ud800x"`), ""},
		{"not UTF-8", swap(item, `"Forte"`, "\"\xff\""), "not an event: not UTF-8"},
		{"nested deep", swap(item, `"version"`, `"later": `+strings.Repeat("[", 60)+strings.Repeat("]", 60)+`, "version"`), ""},
		{"nested too deep", swap(item, `"version"`, `"later": `+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`, "version"`), "nested deeper than 64"},
		{"two events", item + item, "not an event: unexpected '{'"},
		{"cut", item[:len(item)-20], "not an event: the text ends too early"},
		{"nothing", ``, "not an object"},
		{"an array", `[]`, "not an object"},
		{"too long", item + strings.Repeat(" ", event.MaxBytes), "at most 1000000"},
		{"a wrong clock", swap(obs, `"2026-03-01T11:59:00.25Z"`, `"2026-03-03T11:59:00Z"`), "after producedAt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := event.Decode([]byte(test.in))
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%+v, %v, want %q", e, err, test.want)
			case err != nil && len(err.Error()) > 1000:
				t.Errorf("a reason of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, change := range map[string]func(e *event.Event){
		"id":       func(e *event.Event) { e.ID = "1" },
		"kind":     func(e *event.Event) { e.Kind = "things" },
		"mismatch": func(e *event.Event) { e.Kind = event.KindSite },
		"nothing":  func(e *event.Event) { e.Data = nil },
		"nil":      func(e *event.Event) { e.Data = (*contracts.Item)(nil) },
		"time":     func(e *event.Event) { e.ProducedAt = time.Time{} },
		"year":     func(e *event.Event) { e.ProducedAt = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"payload":  func(e *event.Event) { e.Data = &contracts.Item{} },
		"producer": func(e *event.Event) { e.Producer = "\xff" },
	} {
		e := samples()[2]
		change(e)
		if b, err := event.Encode(e); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
	big := samples()[0]
	batch := big.Data.(*contracts.Observations)
	offers := make([]contracts.Offer, 500)
	for i := range offers {
		offers[i] = contracts.Offer{Price: ptr(int64(1)), CurrencyCode: "EUR", URL: strings.Repeat("x", 2048)}
	}
	batch.Observations[0].Offers = offers
	if _, err := event.Encode(big); err == nil || !strings.Contains(err.Error(), "at most 1000000") {
		t.Errorf("too large: %v", err)
	}
}
