package wire

import (
	"bytes"
	"context"
	"encoding/json"

	"preismon/query"
	"preismon/query/frame"
)

// Records is a complete answer of the surface /ext/v1: a list of records, and
// what they cover.
type Records struct {
	Columns []frame.Column // of a record, in the order of its fields
	// Rows are the JSON objects, separated by commas, in pieces that are valid
	// until Release.
	Rows     [][]byte
	Returned int
	Next     string // cursor of the next page; empty: this is the last one
	Limit    int    // 0: the answer has no pages
	Query    any
	Release  func()
}

// Body returns the JSON object of the answer, in pieces.
func (r *Records) Body() ([][]byte, error) {
	query, err := Marshal(r.Query)
	if err != nil {
		return nil, err
	}
	around := []byte(`],"query":`)
	if r.Limit > 0 {
		paging, err := Marshal(r.paging())
		if err != nil {
			return nil, err
		}
		around = append(append([]byte(`],"paging":`), paging...), `,"query":`...)
	}
	body := append([][]byte{[]byte(`{"data":[`)}, r.Rows...)
	return append(body, around, query, []byte{'}'}), nil
}

func (r *Records) paging() query.Paging {
	return query.Paging{Limit: r.Limit, Returned: r.Returned, NextCursor: r.Next}
}

// recordsOf returns an answer of a small number of records.
func recordsOf[T any](data []T, paging query.Paging, echo any) (*Records, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, record := range data {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(record); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1) // the line end
	}
	return &Records{
		Columns: query.RecordColumns[T](), Rows: [][]byte{b.Bytes()}, Returned: len(data), Next: paging.NextCursor, Limit: paging.Limit, Query: echo, Release: func() {},
	}, nil
}

// answered asks the service, unless the request is wrong.
func answered[R, T, Q any](
	ctx context.Context, p query.Principal, r R, wrong error, ask func(context.Context, query.Principal, R) (*query.Records[T, Q], error),
) (*Records, error) {
	if wrong != nil {
		return nil, wrong
	}
	page, err := ask(ctx, p, r)
	if err != nil {
		return nil, err
	}
	return recordsOf(page.Data, page.Paging, page.Query)
}

// Read answers one query of /ext/v1. body is the body of the request; empty: it
// has none.
type Read func(ctx context.Context, s *query.Service, p query.Principal, in *Params, body []byte) (*Records, error)

// Parameters returns the names of what the read accepts, apart from a body.
func (r Read) Parameters() []string {
	return ParametersOf(func(in *Params) {
		_, _ = r(context.Background(), nil, query.Principal{}, in, nil) // it refuses them
	})
}
