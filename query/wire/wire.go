// Package wire is the public form of the service: how requests name what they
// ask for, how records and problems look, and what each operation consists of.
// REST and MCP both use it, so that the same request has the same answer and
// the same refusal in both.
//
// It contains no rules of the domain and knows no transport.
package wire

import (
	"context"

	"preismon/query"
)

// Operation answers one query: it reads the parameters, calls the service, and
// returns what is written as JSON.
type Operation func(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error)

// Parameters returns the names of what the operation accepts.
func (op Operation) Parameters() []string {
	return ParametersOf(func(in *Params) {
		_, _ = op(context.Background(), nil, query.Principal{}, in) // it refuses them
	})
}
