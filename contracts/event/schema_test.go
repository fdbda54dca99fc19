package event_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// The schema and the types name the same fields.
func TestSchemaNamesEveryField(t *testing.T) {
	var doc map[string]any
	must.Do(t, json.Unmarshal(event.Schema, &doc))
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
	// Conditional parts of the schema repeat names; only the set counts.
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

// only lists what Decode refuses but JSON Schema cannot express.
var only = regexp.MustCompile(strings.Join([]string{
	`check digit`, `not in lower case without blanks`, `is not an id`, `lies outside 2000 to 2099`, `producedAt: missing`, `bytes, at most`,
	`createdAt: missing`, `archivedAt: missing`, `after producedAt`,
}, "|"))

// A single changed field is refused either by both the schema and Decode or by
// neither. Unless the full run is requested, each field gets every fourth
// value.
func TestSchemaAndDecodeAgree(t *testing.T) {
	s := schema(t)
	values := []string{
		`null`, `true`, `false`, `0`, `1`, `-1`, `1.5`, `1e30`, `9007199254740992`, `123456789012345678901234567890`, `""`, `" "`, `"x"`, `"1"`, `"0"`, `"01"`, `"EUR"`, `"eur"`, `"A b"`,
		`"2026-02-30T00:00:00Z"`, `"2026-02-03T04:05:06+01:00"`, `"2026-02-03t04:05:06z"`, `"2026-02-03"`, `"2026-02-03T4:05:06Z"`, `"2026-02-03T04:05:06,5Z"`, `"2026-02-03T04:05:06.Z"`, `"2026-02-03T04:05:06+24:00"`, `"2026-02-03T04:05:06.123456789-11:59"`, `[]`, `[null]`, `["x"]`, `[1]`, `[{}]`, `{}`, `{"a":"b"}`, `{"a":null}`, `{"a":1}`, `"` + strings.Repeat("y", 3000) + `"`,
		`"observations"`, `"item"`, `"export"`, `"unavailable"`, `"priceObserved"`, `"siteUnavailable"`, `"../x"`, `".."`,
	}
	refused, accepted, places := 0, 0, 0
	for _, e := range samples() {
		b := must.Get(event.Encode(e))(t)
		var doc any
		must.Do(t, json.Unmarshal(b, &doc))
		each(doc, "", func(path string, set func(v any), remove func()) {
			try := func(what string) {
				b := must.Get(json.Marshal(doc))(t)
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
			places++
			for i := places % effort.Often(4, 1); i < len(values); i += effort.Often(4, 1) {
				v := values[i]
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
	if refused < effort.Often(1000, 4000) || accepted < effort.Often(100, 400) {
		t.Error("too few to mean something")
	}
}

// each visits every value below v; set and remove change it until the next
// visit.
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
		b := must.Get(event.Encode(e))(t)
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
