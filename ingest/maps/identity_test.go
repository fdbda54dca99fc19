package maps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
)

// TestNumbersOfSeveralProducts: products whose numbers are zeros, or rounded by a
// spreadsheet, are not one: they are known by another number or key, or their
// rows are rejected.
func TestNumbersOfSeveralProducts(t *testing.T) {
	const mapping = "source: s\ncolumns:\n  site: {value: a.example}\n  capturedAt: {value: 2026-02-01T09:00:00Z}\n  price: price\n" +
		"  productKey: sku\n  ean: ean\n  pzn: {column: pzn, pad: 8}\nsites: {a.example: {type: shop, country: DE, currency: EUR}}\ncsv: {delimiter: ;}\n"
	const none, mixed = "no product key", "a spreadsheet has rounded the EAN to "
	pzn := []string{"pzn", "10000001"}
	for row, want := range map[string]struct {
		refused string
		key     []string // what its id is derived from
	}{
		";4,00638E+12;":           {refused: mixed},
		";4.00638133393E+12;":     {refused: mixed},
		";4E12;":                  {refused: mixed},
		";4,00638E+12;0":          {refused: mixed},
		";4.006381333931E12;":     {key: []string{"key", "s", "a.example", "4.006381333931E12"}}, // whole
		"A;4,00638E+12;":          {key: []string{"key", "s", "a.example", "A"}},
		";4,00638E+12;10000001":   {key: pzn},
		";;00000000":              {refused: none},
		";;0000":                  {refused: none},
		";;PZN-00000000":          {refused: none},
		"A;;00000000":             {key: []string{"key", "s", "a.example", "A"}},
		";0000000000000;":         {refused: none},
		";0000000000000;10000001": {key: pzn},
		";4006381333931;00000000": {key: []string{"ean", "04006381333931"}},
	} {
		sum, items := NewStanding("M").published(t, event.KindItem, mapping, "sku;ean;pzn;price\nok;;;1\n"+row+";1.50\n")
		var ids []contracts.ItemID
		for _, it := range items {
			ids = append(ids, it.(*contracts.Item).ItemID)
		}
		if want.refused != "" {
			if sum.Rejected != 1 || !strings.Contains(sum.RejectedBy[0].Example, want.refused) {
				t.Errorf("%s: %s", row, sum)
			}
		} else if id := contracts.DeriveID[contracts.ItemID](want.key...); sum.Rejected != 0 || !slices.Contains(ids, id) {
			t.Errorf("%s: items %v, want %d: %s", row, ids, id, fmt.Sprint(sum.RejectedBy))
		}
	}
}
