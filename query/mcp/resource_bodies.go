package mcp

import (
	"context"
	"encoding/json"

	"preismon/query"
	"preismon/query/wire"
)

// bodyReader reads the body of a resource with the arguments of its address.
type bodyReader func(context.Context, *query.Service, query.Principal, wire.Arguments) ([]byte, error)

// byArguments reads what an operation answers.
func byArguments(op wire.Operation) bodyReader {
	return func(ctx context.Context, s *query.Service, p query.Principal, a wire.Arguments) ([]byte, error) {
		arguments, err := wire.Marshal(a)
		if err != nil {
			return nil, err
		}
		return bodyOf(op(ctx, s, p, wire.FromArguments(arguments)))
	}
}

// listBody is a page of any records.
type listBody struct {
	Data   []json.RawMessage `json:"data"`
	Paging query.Paging      `json:"paging"`
	Query  json.RawMessage   `json:"query"`
}

// pageOf reads a page of an operation.
func pageOf(ctx context.Context, s *query.Service, p query.Principal, op wire.Operation, a wire.Arguments) (page listBody, err error) {
	body, err := byArguments(op)(ctx, s, p, a)
	if err == nil {
		err = json.Unmarshal(body, &page)
	}
	return page, err
}

// first reads the one record of a page that is filtered by its id.
func first(op wire.Operation) bodyReader {
	return func(ctx context.Context, s *query.Service, p query.Principal, a wire.Arguments) ([]byte, error) {
		page, err := pageOf(ctx, s, p, op, a)
		if err != nil {
			return nil, err
		}
		if len(page.Data) == 0 {
			return nil, noResource()
		}
		return page.Data[0], nil
	}
}

// allSites returns the first page of sites, with the records of all pages.
func allSites(ctx context.Context, s *query.Service, p query.Principal, _ wire.Arguments) ([]byte, error) {
	all, err := pageOf(ctx, s, p, wire.Sites, wire.Arguments{})
	if err != nil {
		return nil, err
	}
	for all.Paging.NextCursor != "" {
		page, err := pageOf(ctx, s, p, wire.Sites, wire.Arguments{"limit": query.MaxLimit, "cursor": all.Paging.NextCursor})
		if err != nil {
			return nil, err
		}
		all.Data, all.Paging.NextCursor = append(all.Data, page.Data...), page.Paging.NextCursor
		all.Paging.Returned = len(all.Data)
	}
	return wire.Marshal(all)
}
