package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		b := must.Get(event.Encode(e))(f)
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
			// Whatever Decode refuses, encoding/json refuses too, except for
			// what Decode promises to refuse.
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

// stricter matches what Decode refuses and encoding/json does not.
var stricter = regexp.MustCompile(`given twice|nested deeper|not UTF-8|at most 1000000|amountMinor: missing|is not a time like`)

// viaJSON reads an event with encoding/json, for comparison with Decode.
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
			if v == "" { // a null field counts as missing
				delete(d.Fields, k)
			}
		}
	}
	return e, e.Validate()
}

// caseFolded reports whether a name could be one that encoding/json takes for
// another name, or a field of a customer that is empty.
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
		encoded := must.Get(event.Encode(e))(b)
		for name, decode := range map[string]func([]byte) (*event.Event, error){"decode": event.Decode, "encoding-json": viaJSON} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(encoded)))
				b.ReportAllocs()
				for b.Loop() {
					must.Get(decode(encoded))(b)
				}
			})
		}
		b.Run(fmt.Sprintf("encode/%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(encoded)))
			b.ReportAllocs()
			for b.Loop() {
				must.Get(event.Encode(e))(b)
			}
		})
	}
}
