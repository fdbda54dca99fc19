package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
)

var update = flag.Bool("update", false, "write the golden files")

var producedAt = time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)

func ptr[T any](v T) *T { return &v }

// samples gives one event of each kind, with every field in use.
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
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(event.Schema))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("event.schema.json", doc); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("event.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
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
			encoded, err := event.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join("testdata", string(e.Kind)+".json")
			if *update {
				var b bytes.Buffer
				if err := json.Indent(&b, encoded, "", "  "); err != nil {
					t.Fatal(err)
				}
				b.WriteByte('\n')
				if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v (run with -update)", err)
			}
			if err := check(s, golden); err != nil {
				t.Errorf("the schema refuses the golden: %v", err)
			}
			got, err := event.Decode(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(e, got); d != "" {
				t.Error("decoded golden (-want +got):\n" + d)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, golden); err != nil {
				t.Fatal(err)
			}
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
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The schema and the types name the same fields.
func TestSchemaNamesEveryField(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(event.Schema, &doc); err != nil {
		t.Fatal(err)
	}
	var inSchema []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, typed := v["type"]; typed {
				if props, ok := v["properties"].(map[string]any); ok {
					for k := range props {
						inSchema = append(inSchema, k)
					}
				}
			}
			for _, part := range v {
				walk(part)
			}
		case []any:
			for _, part := range v {
				walk(part)
			}
		}
	}
	walk(doc)
	inTypes := []string{"version", "eventId", "kind", "producer", "producedAt", "data"}
	var fields func(v reflect.Type)
	fields = func(v reflect.Type) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Slice:
			fields(v.Elem())
		case reflect.Struct:
			for f := range v.Fields() {
				if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
					inTypes = append(inTypes, tag)
					fields(f.Type)
				}
			}
		}
	}
	for _, e := range samples() {
		if e.Kind != event.KindImport && e.Kind != event.KindImportArchive {
			fields(reflect.TypeOf(e.Data))
		}
	}
	// Condition parts of the schema repeat names; what counts is the set.
	set := func(s []string) []string { slices.Sort(s); return slices.Compact(s) }
	if d := cmp.Diff(set(inTypes), set(inSchema)); d != "" {
		t.Error("fields (-types +schema):\n" + d)
	}
	var currencies []string
	for c := range contracts.Currencies() {
		currencies = append(currencies, string(c))
	}
	var listed []string
	for _, c := range doc["$defs"].(map[string]any)["currency"].(map[string]any)["enum"].([]any) {
		listed = append(listed, c.(string))
	}
	if d := cmp.Diff(set(currencies), listed); d != "" {
		t.Error("currencies (-types +schema):\n" + d)
	}
}

// only lists what Decode refuses and JSON Schema cannot express.
var only = regexp.MustCompile(strings.Join([]string{
	`check digit`, `not in lower case without blanks`, `is not an id`, `lies outside 2000 to 2099`, `producedAt: missing`, `bytes, at most`,
	`createdAt: missing`, `archivedAt: missing`, `after producedAt`,
}, "|"))

// A single changed field is refused by both, the schema and Decode, or by
// neither.
func TestSchemaAndDecodeAgree(t *testing.T) {
	s := schema(t)
	values := []string{
		`null`, `true`, `false`, `0`, `1`, `-1`, `1.5`, `1e30`, `9007199254740992`, `123456789012345678901234567890`, `""`, `" "`, `"x"`, `"1"`, `"0"`, `"01"`, `"EUR"`, `"eur"`, `"A b"`,
		`"2026-02-30T00:00:00Z"`, `"2026-02-03T04:05:06+01:00"`, `"2026-02-03t04:05:06z"`, `"2026-02-03"`, `"2026-02-03T4:05:06Z"`, `"2026-02-03T04:05:06,5Z"`, `"2026-02-03T04:05:06.Z"`, `"2026-02-03T04:05:06+24:00"`, `"2026-02-03T04:05:06.123456789-11:59"`, `[]`, `[null]`, `["x"]`, `[1]`, `[{}]`, `{}`, `{"a":"b"}`, `{"a":null}`, `{"a":1}`, `"` + strings.Repeat("y", 3000) + `"`,
		`"observations"`, `"item"`, `"export"`, `"unavailable"`, `"priceObserved"`, `"siteUnavailable"`, `"../x"`, `".."`,
	}
	refused, accepted := 0, 0
	for _, e := range samples() {
		b, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		each(doc, "", func(path string, set func(v any), remove func()) {
			try := func(what string) {
				b, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				bySchema := check(s, b)
				_, byDecode := event.Decode(b)
				switch {
				case bySchema != nil && byDecode == nil:
					t.Errorf("%s%s %s: only the schema refuses: %v", e.Kind, path, what, bySchema)
				case bySchema == nil && byDecode != nil && !only.MatchString(byDecode.Error()):
					t.Errorf("%s%s %s: only Decode refuses: %v", e.Kind, path, what, byDecode)
				case byDecode != nil:
					refused++
				default:
					accepted++
				}
			}
			for _, v := range values {
				set(json.RawMessage(v))
				try("= " + v[:min(len(v), 40)])
			}
			if remove != nil {
				remove()
				try("removed")
			}
		})
	}
	t.Logf("%d refused, %d accepted by both", refused, accepted)
	if refused < 1000 || accepted < 100 {
		t.Error("too few to mean something")
	}
}

// each visits every value below v; set and remove change it until the next.
func each(v any, path string, visit func(path string, set func(any), remove func())) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			old := v[k]
			visit(path+"."+k, func(n any) { v[k] = n }, func() { delete(v, k) })
			v[k] = old
			each(old, path+"."+k, visit)
		}
	case []any:
		for i, old := range v {
			visit(fmt.Sprintf("%s[%d]", path, i), func(n any) { v[i] = n }, nil)
			v[i] = old
			each(old, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

func TestGeneratedEvents(t *testing.T) {
	s := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		b, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(s, b); err != nil {
			t.Fatalf("the schema refuses %s: %v", b, err)
		}
		got, err := event.Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if d := cmp.Diff(e, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

func anyEvent(t *rapid.T) *event.Event {
	number := rapid.Uint64Range(1, 1<<64-1)
	text := func(n int) *rapid.Generator[string] { return rapid.StringN(0, n/4, n) }
	name := func(n int) *rapid.Generator[string] { return rapid.StringN(1, n/4, n) }
	site := rapid.Map(rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,63}`), func(s string) contracts.SiteKey { return contracts.SiteKey(s) })
	currency := rapid.SampledFrom([]contracts.Currency{"EUR", "JPY", "KWD", "CLF"})
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMilli(rapid.Int64Range(producedAt.UnixMilli()-1e11, producedAt.UnixMilli()).Draw(t, "at")).UTC()
	})
	amount := rapid.Int64Range(0, contracts.MaxAmountMinor)
	offer := rapid.Custom(func(t *rapid.T) contracts.Offer {
		return contracts.Offer{
			Merchant: text(256).Draw(t, "merchant"), Price: ptr(amount.Draw(t, "price")), Shipping: rapid.Ptr(amount, true).Draw(t, "shipping"), CurrencyCode: currency.Draw(t, "currency"),
			IsPrime: rapid.SampledFrom([]contracts.Flag{0, 1, 2}).Draw(t, "prime"), IsBuyBox: rapid.SampledFrom([]contracts.Flag{0, 1, 2}).Draw(t, "box"),
			Rating: contracts.Rating(text(64).Draw(t, "rating")), Title: text(1024).Draw(t, "title"), URL: text(2048).Draw(t, "url"),
		}
	})
	observation := rapid.Custom(func(t *rapid.T) contracts.Observation {
		o := contracts.Observation{ItemID: contracts.ItemID(number.Draw(t, "item")), CapturedAt: instant.Draw(t, "captured"), Outcome: rapid.SampledFrom(contracts.Outcomes()).Draw(t, "outcome")}
		if o.Outcome == contracts.PriceObserved {
			o.Offers = rapid.SliceOfN(offer, 1, 4).Draw(t, "offers")
		}
		return o
	})
	e := &event.Event{
		ID:   rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, "id"),
		Kind: rapid.SampledFrom(event.Kinds()).Draw(t, "kind"), Producer: text(128).Draw(t, "producer"), ProducedAt: producedAt,
	}
	mandate, itemID := contracts.MandateID(number.Draw(t, "mandate")), contracts.ItemID(number.Draw(t, "item"))
	switch e.Kind {
	case event.KindObservations:
		e.Data = &contracts.Observations{Site: site.Draw(t, "site"), Run: text(128).Draw(t, "run"), Observations: rapid.SliceOfN(observation, 1, 6).Draw(t, "observations")}
	case event.KindSite:
		e.Data = &contracts.Site{Site: site.Draw(t, "site"), Name: name(256).Draw(t, "name"), SiteType: contracts.Shop, CountryCode: rapid.StringMatching(`[A-Z]{2}`).Draw(t, "country"), CurrencyCode: currency.Draw(t, "currency"), CanonicalCountryMarket: rapid.Bool().Draw(t, "canonical")}
	case event.KindItem:
		e.Data = &contracts.Item{ItemID: itemID, Name: text(1024).Draw(t, "name"), Brand: text(256).Draw(t, "brand")}
	case event.KindMandate:
		e.Data = &contracts.Mandate{MandateID: mandate, Name: name(256).Draw(t, "name"), Package: contracts.Package{Name: name(64).Draw(t, "package"), MaxItems: rapid.IntRange(0, 1<<40).Draw(t, "max")}}
	case event.KindAccount:
		a := samples()[4].Data.(*contracts.Account)
		a.AccountID, a.Scope = contracts.AccountID(number.Draw(t, "account")), contracts.AccountScope{AllOrders: true, Sites: rapid.SliceOfN(site, 0, 3).Draw(t, "sites")}
		e.Data = a
	case event.KindOrder:
		e.Data = &contracts.Order{OrderID: contracts.OrderID(number.Draw(t, "order")), MandateID: mandate, Name: name(256).Draw(t, "name"), CreatedAt: instant.Draw(t, "created"), Sites: rapid.SliceOfN(site, 0, 5).Draw(t, "sites"), Items: []contracts.ItemID{itemID}}
	case event.KindReferencePrices:
		e.Data = &contracts.ReferencePrices{MandateID: mandate, ItemID: itemID, Prices: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) contracts.ReferencePrice {
			return contracts.ReferencePrice{AmountMinor: amount.Draw(t, "amount"), CurrencyCode: currency.Draw(t, "currency"), AppliesToSite: site.Draw(t, "site"), PriceType: text(64).Draw(t, "type")}
		}), 0, 5).Draw(t, "prices")}
	case event.KindCustomerData:
		e.Data = &contracts.CustomerData{MandateID: mandate, ItemID: itemID, Category: text(256).Draw(t, "category"), Fields: rapid.MapOfN(name(128), text(2048), 0, 5).Draw(t, "fields")}
	case event.KindExport, event.KindImport:
		e.Data = &contracts.FileJob{FileJobID: contracts.FileJobID(number.Draw(t, "job")), MandateID: mandate, OrderID: 1, Name: name(256).Draw(t, "name"), CreatedAt: instant.Draw(t, "created")}
	default:
		a := *samples()[9].Data.(*contracts.FileArchive)
		a.ArchiveID = contracts.ArchiveID(number.Draw(t, "archive"))
		e.Data = &a
	}
	return e
}

func TestDecodeSettlesWhatJSONLeavesOpen(t *testing.T) {
	golden := func(k event.Kind) string {
		b, err := os.ReadFile(filepath.Join("testdata", string(k)+".json"))
		if err != nil {
			t.Fatal(err)
		}
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

func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		b, err := event.Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{
		``, `{}`, `[`, `{"version":1}`, `{"version":1,"kind":"item","data":{"itemId":"1"}`, `{"version":1e0}`, `{"a":"\ud83d\ude00\udc00\u0000"}`,
		`{"data":{"itemId":"5","name":"\"\\\/\b\f\n\r\t"},"version":1,"kind":"item","eventId":"00000000-0000-4000-8000-000000000003","producedAt":"2026-03-01T12:00:00+02:00"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := event.Decode(b)
		byJSON, jsonErr := viaJSON(b)
		if err != nil {
			// Whatever Decode refuses encoding/json refuses too, but for what
			// Decode promises to refuse.
			if jsonErr == nil && !caseFolded(b) && !stricter.MatchString(err.Error()) {
				t.Fatalf("only Decode refuses %q: %v", b, err)
			}
			return
		}
		if jsonErr == nil && !caseFolded(b) {
			if d := cmp.Diff(byJSON, e, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%q (-json +decode):\n%s", b, d)
			}
		}
		again, err := event.Encode(e)
		if err != nil {
			t.Fatalf("decoded %q does not encode: %v", b, err)
		}
		e2, err := event.Decode(again)
		if err != nil {
			t.Fatalf("encoded %q does not decode: %v", again, err)
		}
		if d := cmp.Diff(e, e2, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// stricter is what Decode refuses and encoding/json does not.
var stricter = regexp.MustCompile(`given twice|nested deeper|not UTF-8|at most 1000000|amountMinor: missing|is not a time like`)

// viaJSON reads an event with encoding/json: what Decode is compared with.
func viaJSON(b []byte) (*event.Event, error) {
	var env struct {
		Version    int
		EventID    string
		Kind       event.Kind
		Producer   string
		ProducedAt time.Time
		Data       json.RawMessage
	}
	if err := json.Unmarshal(b, &env); err != nil {
		return nil, err
	}
	if env.Version != 1 {
		return nil, errors.New("version")
	}
	e := &event.Event{ID: env.EventID, Kind: env.Kind, Producer: env.Producer, ProducedAt: env.ProducedAt.UTC()}
	for _, s := range samples() {
		if s.Kind == env.Kind && len(env.Data) > 0 && string(env.Data) != "null" {
			e.Data = reflect.New(reflect.TypeOf(s.Data).Elem()).Interface().(event.Payload)
			if err := json.Unmarshal(env.Data, e.Data); err != nil {
				return nil, err
			}
		}
	}
	switch d := e.Data.(type) {
	case *contracts.Observations:
		for i := range d.Observations {
			d.Observations[i].CapturedAt = d.Observations[i].CapturedAt.UTC()
		}
	case *contracts.Order:
		d.CreatedAt = d.CreatedAt.UTC()
		if d.Schedule != nil {
			for _, at := range []*time.Time{d.Schedule.LastRunAt, d.Schedule.NextRunAt} {
				if at != nil {
					*at = at.UTC()
				}
			}
		}
	case *contracts.FileJob:
		d.CreatedAt = d.CreatedAt.UTC()
	case *contracts.FileArchive:
		d.ArchivedAt = d.ArchivedAt.UTC()
	case *contracts.CustomerData:
		for k, v := range d.Fields {
			if v == "" { // a null field is no field
				delete(d.Fields, k)
			}
		}
	}
	return e, e.Validate()
}

// caseFolded tells whether a name could be one that encoding/json takes for
// another, or a field of a customer that is empty.
func caseFolded(b []byte) bool {
	var doc any
	if json.Unmarshal(b, &doc) != nil {
		return true
	}
	known := map[string]bool{}
	for _, n := range event.FieldNames() {
		known[strings.ToLower(n)] = true
	}
	folded := false
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, part := range v {
				if lower := strings.ToLower(k); known[lower] && !slices.Contains(event.FieldNames(), k) {
					folded = true
				}
				for _, r := range k {
					folded = folded || r == 'ſ' || r == 'K' // fold to s and k
				}
				if part == "" {
					folded = true
				}
				walk(part)
			}
		case []any:
			for _, part := range v {
				walk(part)
			}
		}
	}
	walk(doc)
	return folded
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{1, 500} {
		e := samples()[0]
		batch := e.Data.(*contracts.Observations)
		o := batch.Observations[0]
		o.Offers = o.Offers[:1]
		batch.Observations = nil
		for i := range size {
			o.ItemID = contracts.ItemID(1000 + i)
			batch.Observations = append(batch.Observations, o)
		}
		encoded, err := event.Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		for name, decode := range map[string]func([]byte) (*event.Event, error){"decode": event.Decode, "encoding-json": viaJSON} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(encoded)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := decode(encoded); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("encode/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(encoded)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := event.Encode(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
