package query

import "context"

type requestIDKey struct{}

// WithRequestID marks everything that is done with ctx as part of a request, so
// that logs, traces and statements can be correlated. The id is one line of at
// most 64 letters, digits, and . _ -
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of the request that ctx is part of; empty: none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
