package mcp

import (
	"context"
	"slices"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/wire"
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

// namedMover and namedPosition are records with the name of the product; null:
// none is known.
type namedMover struct {
	query.Mover
	ProductName *string `json:"productName"`
}

type namedPosition struct {
	query.OwnPosition
	ProductName *string `json:"productName"`
}

// withNames adds the names of the products to the records of a page, if they are
// among the fields and records do not have them anyway.
func withNames(ctx context.Context, s *query.Service, page any, fields []string) (any, error) {
	if !slices.Contains(fields, productName) {
		return page, nil
	}
	switch p := page.(type) {
	case *query.MoversPage:
		return namesOf(ctx, s, &p.Records, func(m query.Mover) contracts.ItemID { return m.ItemID },
			func(m query.Mover, name *string) any { return namedMover{m, name} })
	case *query.PositionsPage:
		return namesOf(ctx, s, p, func(p query.OwnPosition) contracts.ItemID { return p.ItemID },
			func(p query.OwnPosition, name *string) any { return namedPosition{p, name} })
	}
	return page, nil
}

// namedPage is a page whose records are shown with names.
type namedPage[T, Q any] struct {
	*query.Records[T, Q]
	shownAs func(T) any
}

func namesOf[T, Q any](
	ctx context.Context, s *query.Service, page *query.Records[T, Q], item func(T) contracts.ItemID, with func(T, *string) any,
) (*namedPage[T, Q], error) {
	var items []contracts.ItemID
	for _, record := range page.Data {
		items = append(items, item(record))
	}
	names, err := s.ProductNames(ctx, items)
	if err != nil {
		return nil, err
	}
	return &namedPage[T, Q]{page, func(record T) any { return with(record, names[item(record)]) }}, nil
}

// MarshalJSON returns the page with its records named.
func (p *namedPage[T, Q]) MarshalJSON() ([]byte, error) {
	shown := query.Records[any, Q]{Data: []any{}, Paging: p.Paging, Query: p.Query}
	for _, record := range p.Data {
		shown.Data = append(shown.Data, p.shownAs(record))
	}
	return wire.Marshal(shown)
}
