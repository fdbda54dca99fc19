package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"preismon/query"
	"preismon/query/wire"
)

// tool is one query that agents can make. Its arguments are those that its
// decoder reads; its rules are those of the service: it has none of its own.
type tool struct {
	name  string
	title string // for people
	about string // for agents: when to use it, what comes next
	// operation is the operation of the contract that has these parameters.
	operation string
	read      wire.Operation
	arguments []string // nil: those of read
	required  []string
	words     map[string]string      // what arguments mean only here
	answer    func() (schema, error) // nil: that of the operation
	maxLimit  int                    // of records; 0: like most lists
	heavy     bool
	run       runner                 // nil: pages of read
	records   func() (schema, error) // the body with its records; nil: they have no fields to choose
	adds      []addition             // of two that have a field, the first one adds it
}

// addition is an argument that adds fields to the records.
type addition struct {
	argument string
	fields   []string
}

// runner answers a call of a tool.
type runner func(context.Context, *query.Service, Call) (Result, error)

// ToolNames returns the names of all tools, in the order in which they are
// listed.
func ToolNames() []string {
	var all []string
	for _, t := range tools() {
		all = append(all, t.name)
	}
	return all
}

// pages runs an operation that answers with a page. If the call gives no limit,
// a page that is too large keeps as many records as fit: its cursor continues
// after them.
func pages(op wire.Operation) runner {
	return summed(op, func(returned int) any { return counted{returned} })
}

// summed is pages with its own summary, built from the number of records of the
// page.
func summed(op wire.Operation, summary func(returned int) any) runner {
	return func(ctx context.Context, s *query.Service, c Call) (Result, error) {
		params := c.params()
		answer, err := op(ctx, s, c.Principal, params)
		if err != nil {
			return Result{}, explained(ctx, s, c, err)
		}
		page := answer.(listPage)
		named, why := naming(ctx, s, c.Principal), moreRows
		for {
			shown, err := shownPage(page, c.Fields, named)
			if err != nil {
				return Result{}, err
			}
			at := page.Listed()
			n := at.Returned
			sum, err := bodyOf(summary(n), nil)
			if err != nil {
				return Result{}, err
			}
			room := answerBytes - max(0, len(sum)+len(shown.body)-shown.records-headBytes)
			if !params.Given("limit") && n > 1 && shown.records > room {
				why = answerBudget
				if err := page.Cut(fewer(n, shown.records, room)); err != nil {
					return Result{}, err
				}
				continue
			}
			h := head{Summary: json.RawMessage(sum), Completeness: completenessOf(at.NextCursor, why)}
			if n == 0 && !params.Given("cursor") {
				h.Note = noteOf(ctx, s, c)
			}
			return composed(h, shown.body)
		}
	}
}

// listPage is a page of a list. It can be cut after a number of its records.
type listPage interface {
	Listed() query.Paging
	Cut(records int) error
}

// pageShown is a page as the answer shows it.
type pageShown struct {
	body    []byte
	records int // bytes of its records or rows
}

func shownPage(page any, fields []string, named func([]record) error) (shown pageShown, err error) {
	if shown.body, err = bodyOf(page, nil); err != nil {
		return shown, err
	}
	if fields == nil {
		shown.records = recordsOf(shown.body)
		return shown, nil
	}
	var rows []byte
	shown.body, rows, err = tableOf(shown.body, fields, named)
	shown.records = len(rows)
	return shown, err
}

// recordsOf returns how many bytes the records of a page take. They come first,
// then paging; in a text, its quotation marks would be escaped.
func recordsOf(body []byte) int {
	return bytes.LastIndex(body, []byte(`,"paging":`)) - len(`{"data":`)
}

// fewer returns how many of n records, which take size bytes in all, fit the
// room, with some margin; at least 1.
func fewer(n, size, room int) int { return max(1, n*max(0, room)/size*9/10) }

// single runs an operation that answers with one record.
func single(op wire.Operation) runner {
	return func(ctx context.Context, s *query.Service, c Call) (Result, error) {
		body, err := bodyOf(op(ctx, s, c.Principal, c.params()))
		if err != nil {
			return Result{}, explained(ctx, s, c, err)
		}
		return compose(head{Summary: counted{1}, Completeness: completeness{Complete: true}}, body)
	}
}

// bodyOf returns an answer as JSON, with its texts made presentable.
func bodyOf(answer any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	body, err := wire.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return presentable(body)
}
