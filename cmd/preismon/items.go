package main

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"preismon/query/search"
)

var itemFields = []string{"itemId", "name", "brand", "manufacturer", "ean", "pzn", "asin", "asinLocale"}

type itemsCmd struct {
	remoteFlags
	listFlags
	Words      []string `arg:"" optional:"" help:"Words of the name, the brand or the manufacturer, or codes (EAN, PZN, ASIN): all of them, in any order; case and accents do not matter."`
	ItemID     string   `name:"item-id" help:"Only the item with this id." env:"-" placeholder:"ID"`
	Ean        string   `help:"Only items with this EAN or GTIN." env:"-" placeholder:"DIGITS"`
	Pzn        string   `help:"Only items with this Pharmazentralnummer." env:"-" placeholder:"DIGITS"`
	Asin       string   `help:"Only items with this ASIN; needs --asin-locale." env:"-" placeholder:"ASIN"`
	AsinLocale string   `help:"Marketplace locale of the ASIN, like de." env:"-" placeholder:"LOCALE"`
}

func (c *itemsCmd) Run(ctx context.Context, std streams, r *remote) error {
	return r.writeList(firstOf(withWords(r.List(ctx, "/v1/items", parametersOf(*c)), c.Words), c.Limit), c.writer(std, itemFields))
}

// withWords yields the items in which each of the words occurs.
func withWords(items iter.Seq2[json.RawMessage, error], words []string) iter.Seq2[json.RawMessage, error] {
	if len(words) == 0 {
		return items
	}
	wanted := search.New(strings.Join(words, " "))
	return func(yield func(json.RawMessage, error) bool) {
		for row, err := range items {
			var item struct{ Name, Brand, Manufacturer, EAN, PZN, ASIN string } // null is empty
			if err == nil {
				err = json.Unmarshal(row, &item)
			}
			if match, found := wanted.In(strings.Join([]string{item.Name, item.Brand, item.Manufacturer, item.EAN, item.PZN, item.ASIN}, " ")); err == nil && (!found || match.Misspelled) {
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
