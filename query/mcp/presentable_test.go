package mcp_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"preismon/contracts"
	"preismon/contracts/plaintext"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
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
		`{"read":"` + strings.Repeat("r", 900) + `","list":"x"}`:    `{"read":"` + strings.Repeat("r", 900) + `","list":"x"}`,
		`{"token":"` + strings.Repeat("é", 600) + `"}`:              `{"token":"` + strings.Repeat("é", 499) + `…"}`,
		`{"nextCursor":" "}`:                                        `{"nextCursor":" "}`,
		`{"again":"\u0041 ` + strings.Repeat("b", 600) + `"}`:       `{"again":"\u0041 ` + strings.Repeat("b", 600) + `"}`,
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

// Reliability 33: nor does a summary, a note or the guidance of a refusal show
// them otherwise.
func TestTextsOfStrangersBeforeTheRecords(t *testing.T) {
	m := newMarket()
	m.items[0].Name = "Mark\U000E0041er" + strings.Repeat("x", 600)
	m.orders[0].Name = "Ma\u200bin"
	for i := range m.rows {
		if m.rows[i].Site == "market-de" {
			m.rows[i].merchant, m.rows[i].buyBox = "A\u202eB\u200b", contracts.FlagTrue
		}
	}
	a := newAgents(t, m).agent(whole)
	market := a.call("list_results", object{"site": "market-de", "sort": "asc", "limit": 1})
	for of, r := range map[string]result{
		"a summary": market, "a note": a.call("list_results", object{"itemId": 111}), "guidance": a.call("get_order_detail", object{"orderId": 55}),
	} {
		var seen any
		must.Do(t, unmarshal(r.Structured, &seen))
		for _, text := range textsIn(seen, "") {
			if long := utf8.RuneCountInString(text) > 600; long || plaintext.Clean(text, 600) != text {
				t.Errorf("%s: %.300q", of, text)
			}
		}
	}
	equals.Is(t, "AB", at(market.ok(), "summary", "sites", 0, "buyBox", 0, "merchant"), "merchant")
	equals.Is(t, "AB", at(market.ok(), "data", 0, "merchant"), "merchant of the row")
	if status := a.read("svc://ext/v1/orders/status"); !strings.Contains(status, `"name":"Main"`) {
		t.Errorf("a read of /ext/v1: %.500s", status)
	}
}

// textsIn returns the texts in a JSON value except cursors.
func textsIn(v any, name string) (all []string) {
	switch v := v.(type) {
	case string:
		if name != "nextCursor" {
			all = []string{v}
		}
	case []any:
		for _, one := range v {
			all = append(all, textsIn(one, name)...)
		}
	case map[string]any:
		for key, one := range v {
			all = append(all, textsIn(one, key)...)
		}
	}
	return all
}

// The JSON is the same except for its texts, which are clean.
func FuzzPresentable(f *testing.F) {
	f.Add(`{"name":"a\u202eb","nextCursor":"` + strings.Repeat("x", 600) + `","n":1e9}`)
	f.Add(`["\\\"","\\",""]`)
	f.Add(`{"token":" x","again":"a\u0041","read":["` + "\u00e9" + ` "]}`)
	f.Add("{\"\u200b\":\"\u200b\\u200b \"}")
	f.Fuzz(func(t *testing.T, in string) {
		var compact bytes.Buffer
		if !utf8.ValidString(in) || json.Compact(&compact, []byte(in)) != nil {
			t.Skip()
		}
		got := must.Get(mcp.Presentable(compact.Bytes()))(t)
		var before, after any
		must.Do(t, unmarshal(compact.Bytes(), &before))
		if err := unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", compact.String(), got, err)
		}
		if want := cleaned(before, ""); !reflect.DeepEqual(want, after) {
			t.Errorf("%q: got %v, want %v", compact.String(), after, want)
		}
	})
}

func printableASCII(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
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
		ascii := len(v) == len(strings.Map(printableASCII, v))
		if ascii && slices.Contains([]string{"nextCursor", "token", "read", "again"}, name) {
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
