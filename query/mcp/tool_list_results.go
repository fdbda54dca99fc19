package mcp

import (
	"bytes"
	"context"
	"fmt"

	"preismon/query"
	"preismon/query/wire"
)

// results decodes the parameters only: runResults reads the rows.
func results(_ context.Context, _ *query.Service, _ query.Principal, in *wire.Params) (any, error) {
	return wire.DecodeResults(in)
}

// fieldsOfGroups returns the fields of rows that arguments add.
func fieldsOfGroups() []addition {
	g := query.FieldGroups()
	return []addition{
		{"includeIdentity", g.Identity},
		{"includeOrderIds", g.OrderIDs},
		{"includeCustomerData", g.CustomerData},
		{"includeCoverage", g.Coverage},
		{"includeExportFields", g.ExportFields},
	}
}

// runResults reads one page. If the call gives no limit, the page ends when the
// answer is large enough for an agent.
func runResults(ctx context.Context, s *query.Service, c Call) (Result, error) {
	req, err := wire.DecodeResults(c.params())
	if err != nil {
		return Result{}, err
	}
	req.Summarize = true
	if req.Limit == nil {
		req.AnswerBytes = answerBytes
	}
	if c.Fields != nil {
		req.Fields = &c.Fields
	}
	found, sum, err := resultsWithSummary(ctx, s, c.Principal, req)
	if err != nil {
		return Result{}, withAttempts(ctx, c, req, err, func(ctx context.Context) ([]query.ResultsRequest, error) {
			return s.Attempts(ctx, c.Principal, req, err)
		})
	}
	defer found.Rows.Release()
	body, err := resultsBody(found, c.Fields)
	if err != nil {
		return Result{}, err
	}
	h := head{Summary: sum, Completeness: completenessOf(found.Paging.NextCursor, endings[found.Ending])}
	if found.Paging.Returned == 0 && req.Cursor == "" {
		h.Note = noteOf(ctx, s, c)
	}
	return compose(h, body)
}

// resultsWithSummary reads a page with its summary. If the summary makes the answer
// too large, the page is read again with fewer rows, which the node still
// remembers.
func resultsWithSummary(ctx context.Context, s *query.Service, p query.Principal, req query.ResultsRequest) (*query.ResultsPage, resultsSummary, error) {
	page, err := s.Results(ctx, p, req)
	if err != nil {
		return nil, resultsSummary{}, err
	}
	room := listRoom(req.Limit != nil)
	sum := summaryOf(page, room)
	over := len(marshal(sum)) - headBytes
	if req.AnswerBytes == 0 || over <= 0 || len(page.Rows.JSON()) <= answerBytes-over {
		return page, sum, nil
	}
	page.Rows.Release()
	req.AnswerBytes = answerBytes - over
	if page, err = s.Results(ctx, p, req); err != nil {
		return nil, resultsSummary{}, err
	}
	return page, summaryOf(page, room), nil
}

// resultsBody returns the body of a page, or of its table if its rows are those
// of a table.
func resultsBody(page *query.ResultsPage, fields []string) ([]byte, error) {
	if fields != nil {
		echo, err := wire.Marshal(page.Query)
		if err != nil {
			return nil, err
		}
		return presentable(fmt.Appendf(nil, `{"columns":%s,"rows":[%s],"query":%s}`, marshal(fields), page.Rows.JSON(), echo))
	}
	pieces, err := wire.ResultsBody(page)
	if err != nil {
		return nil, err
	}
	return presentable(bytes.Join(pieces, nil))
}
