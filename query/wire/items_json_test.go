package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestItemsAsJSON: a page of items is what encoding/json writes, in the same
// order, whatever its texts are and whether they are present.
func TestItemsAsJSON(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringN(0, 3, 9), rapid.SampledFrom([]string{"a\"b\\c", "\u2028\x7f\x00\n", "Müller & <Söhne>", "bad \xff byte"}))
	rapid.Check(t, func(rt *rapid.T) {
		page := &query.Page[contracts.Item]{Query: map[string]any{"limit": 3}, Paging: query.Paging{NextCursor: text.Draw(rt, "cursor")}}
		for range rapid.IntRange(0, 4).Draw(rt, "items") {
			page.Data = append(page.Data, contracts.Item{
				ItemID: contracts.ItemID(rapid.Uint64Min(1).Draw(rt, "id")), EAN: text.Draw(rt, "ean"), PZN: text.Draw(rt, "pzn"), ASIN: text.Draw(rt, "asin"),
				ASINLocale: text.Draw(rt, "locale"), Name: text.Draw(rt, "name"), Brand: text.Draw(rt, "brand"), Manufacturer: text.Draw(rt, "manufacturer"),
			})
		}
		if rapid.Bool().Draw(rt, "searched") {
			page.Search = new(query.Search)
		}
		shownPage := shown(page, itemOf)
		got := must.Get(Marshal(shownPage))(rt)
		want := must.Get(json.Marshal(shownPage))(rt)
		if diff := cmp.Diff(tokens(rt, want), tokens(rt, got)); diff != "" {
			rt.Fatalf("(-want +got):\n%s\n%s", diff, got)
		}
	})
}

// tokens returns the tokens of a JSON text, in order.
func tokens(t *rapid.T, text []byte) (all []json.Token) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		all = append(all, tok)
	}
}
