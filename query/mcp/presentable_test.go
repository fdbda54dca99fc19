package mcp_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"preismon/contracts/plaintext"
	"preismon/query/mcp"
)

// Reliability 33: texts written by strangers are shown without invisible
// characters, and with a limited length.
func TestTextsOfStrangers(t *testing.T) {
	long := strings.Repeat("é", 600)
	for in, want := range map[string]string{
		`{"name":"plain","n":1.50,"b":true,"x":null,"l":[]}`:        `{"name":"plain","n":1.50,"b":true,"x":null,"l":[]}`,
		`{"name":"a\u202eb\u200bc\u0007d"}`:                         `{"name":"abcd"}`,
		`{"name":"line\nend\ttab"}`:                                 `{"name":"line end tab"}`,
		`{"name":" both "}`:                                         `{"name":"both"}`,
		`{"name":"\"quoted\" \\ <b>"}`:                              `{"name":"\"quoted\" \\ <b>"}`,
		`["` + strings.Repeat("x", 501) + `"]`:                      `["` + strings.Repeat("x", 499) + `…"]`,
		`["` + long + `"]`:                                          `["` + strings.Repeat("é", 499) + `…"]`,
		`{"nextCursor":"` + strings.Repeat("c", 900) + `"}`:         `{"nextCursor":"` + strings.Repeat("c", 900) + `"}`,
		`{"nextCursor":null,"name":"a\u200bb"}`:                     `{"nextCursor":null,"name":"ab"}`,
		`{"a\u200b":"` + "\u00ad" + `x","b":{"c":["\u2066y","z"]}}`: `{"a\u200b":"x","b":{"c":["y","z"]}}`,
		`""`: `""`,
	} {
		got, err := mcp.Presentable([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%.80s: got %.80s, %v; want %.80s", in, got, err, want)
		}
	}
}

// Text that needs no change is not copied.
func TestPresentableTextStaysWhereItIs(t *testing.T) {
	in := []byte(`{"a":"b","c":"größer"}`)
	got, err := mcp.Presentable(in)
	if err != nil || &got[0] != &in[0] {
		t.Errorf("%v, copied", err)
	}
}

// The JSON is the same except for its texts, which are clean.
func FuzzPresentable(f *testing.F) {
	f.Add(`{"name":"a\u202eb","nextCursor":"` + strings.Repeat("x", 600) + `","n":1e9}`)
	f.Add(`["\\\"","\\",""]`)
	f.Add("{\"\u200b\":\"\u200b\\u200b \"}")
	f.Fuzz(func(t *testing.T, in string) {
		var compact bytes.Buffer
		if !utf8.ValidString(in) || json.Compact(&compact, []byte(in)) != nil {
			t.Skip()
		}
		got, err := mcp.Presentable(compact.Bytes())
		must(t, err)
		var before, after any
		must(t, unmarshal(compact.Bytes(), &before))
		if err := unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", compact.String(), got, err)
		}
		if want := cleaned(before, ""); !reflect.DeepEqual(want, after) {
			t.Errorf("%q: got %v, want %v", compact.String(), after, want)
		}
	})
}

func unmarshal(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// cleaned is what Presentable must return, computed the slow way.
func cleaned(v any, name string) any {
	switch v := v.(type) {
	case string:
		if name == "nextCursor" {
			return v
		}
		return plaintext.Clean(v, 500)
	case []any:
		for i := range v {
			v[i] = cleaned(v[i], name)
		}
	case map[string]any:
		for key := range v {
			v[key] = cleaned(v[key], key)
		}
	}
	return v
}

func BenchmarkPresentable(b *testing.B) {
	row := `{"itemId":"11","site":"market-de","capturedAt":"2026-11-21T14:30:56.290Z","availability":"AVAILABLE","price":10.00,"priceMoney":{"value":10.00,"amountMinor":1000,"currencyCode":"EUR"},"currencyCode":"EUR","merchant":"Händler & Söhne"}`
	page := []byte("[" + strings.Repeat(row+",", 9_999) + row + "]")
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := mcp.Presentable(page); err != nil {
			b.Fatal(err)
		}
	}
}
