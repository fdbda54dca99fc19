// Package wire is the public form of the service: how requests name what they
// ask for, how records and problems look, and what each operation is made of.
// REST and MCP both speak it, so that the same question has the same answer
// and the same refusal on either.
//
// It has no rule of the domain and knows no transport.
package wire

import (
	"context"

	"preismon/query"
)

// Operation answers one question: it takes the parameters, asks the service,
// and gives what is to be written as JSON.
type Operation func(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error)

// Parameters are the names of what the operation takes.
func (op Operation) Parameters() []string {
	return Asked(func(in *Params) {
		_, _ = op(context.Background(), nil, query.Principal{}, in) // it refuses
	})
}
