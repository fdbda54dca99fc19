package mcp

import (
	"context"
	"encoding/json"

	"preismon/query"
	"preismon/query/wire"
)

// whole reads what an operation answers without arguments.
func whole(op wire.Operation) func(context.Context, *query.Service, query.Principal) ([]byte, error) {
	return func(ctx context.Context, s *query.Service, p query.Principal) ([]byte, error) {
		return bodyOf(op(ctx, s, p, wire.FromArguments(nil)))
	}
}

// byArguments reads what an operation answers about one record.
func byArguments(op wire.Operation) func(context.Context, *query.Service, query.Principal, wire.Arguments) ([]byte, error) {
	return func(ctx context.Context, s *query.Service, p query.Principal, a wire.Arguments) ([]byte, error) {
		arguments, err := wire.Marshal(a)
		if err != nil {
			return nil, err
		}
		return bodyOf(op(ctx, s, p, wire.FromArguments(arguments)))
	}
}

// first reads the one record of a page that is filtered by its id.
func first(op wire.Operation) func(context.Context, *query.Service, query.Principal, wire.Arguments) ([]byte, error) {
	read := byArguments(op)
	return func(ctx context.Context, s *query.Service, p query.Principal, a wire.Arguments) ([]byte, error) {
		body, err := read(ctx, s, p, a)
		if err != nil {
			return nil, err
		}
		var page listBody
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, err
		}
		if len(page.Data) == 0 {
			return nil, noResource()
		}
		return page.Data[0], nil
	}
}

// listBody is a page of any records.
type listBody struct {
	Data   []json.RawMessage `json:"data"`
	Paging query.Paging      `json:"paging"`
	Query  json.RawMessage   `json:"query"`
}

// allSites returns the first page of sites, with the records of all pages.
func allSites(ctx context.Context, s *query.Service, p query.Principal) ([]byte, error) {
	read := byArguments(wire.Sites)
	body, err := read(ctx, s, p, wire.Arguments{})
	if err != nil {
		return nil, err
	}
	var all listBody
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	if all.Paging.NextCursor == "" {
		return body, nil
	}
	for next := all.Paging.NextCursor; next != ""; {
		body, err := read(ctx, s, p, wire.Arguments{"limit": query.MaxLimit, "cursor": next})
		if err != nil {
			return nil, err
		}
		var page listBody
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, err
		}
		all.Data, next = append(all.Data, page.Data...), page.Paging.NextCursor
	}
	all.Paging.Returned, all.Paging.NextCursor = len(all.Data), ""
	return wire.Marshal(all)
}
