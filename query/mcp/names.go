package mcp

import (
	"context"
	"encoding/json"

	"preismon/contracts"
	"preismon/contracts/plaintext"
	"preismon/query"
)

// productName is a field of tables of product-site pairs and of products whose
// records have no names.
const productName = "productName"

// shapeWithNames is shapeOf for fields that include productName.
func shapeWithNames(operation string) func() (schema, error) {
	return shapeWith(operation, func(body schema) schema {
		record := body["properties"].(schema)["data"].(schema)["items"].(schema)
		record["properties"].(schema)[productName] = kind("string", "null")
		return body
	})
}

// naming returns a function that adds the names of the products to records, null
// where none is known. It looks them up once: for a page, before it is cut.
func naming(ctx context.Context, s *query.Service, p query.Principal) func([]record) error {
	var names map[contracts.ItemID]*string
	return func(records []record) error {
		items := make([]contracts.ItemID, len(records))
		for i, r := range records {
			if err := json.Unmarshal(r["itemId"], &items[i]); err != nil {
				return err
			}
		}
		if names == nil {
			var err error
			if names, err = s.ProductNames(ctx, p, items); err != nil {
				return err
			}
		}
		for i, r := range records {
			r[productName] = nil
			if name := names[items[i]]; name != nil {
				r[productName] = marshal(plaintext.Clean(*name, maxTextRunes))
			}
		}
		return nil
	}
}
