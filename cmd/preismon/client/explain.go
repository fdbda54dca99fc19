package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Explanation is what the server says about a request that was not executed.
type Explanation struct {
	Request                                       string
	Accepted                                      bool
	Problem                                       *Problem
	Window                                        *struct{ CapturedFrom, CapturedTo, Timezone string }
	Sealed                                        *bool
	Pairs, RowsAtMost, ScannedAtMost, BytesAtMost *uint64
	ContentType                                   *string
	Narrower                                      []string
	Record                                        json.RawMessage `json:"-"` // all of it
}

// ErrExplained is the cause that ends a read after it was explained.
var ErrExplained = errors.New("explained")

type explanationKey struct{}

// Explain returns a context in which the first read is explained, not executed:
// the explanation is stored in e, and the context is cancelled.
func Explain(ctx context.Context, e *Explanation) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, explanationKey{}, &explaining{e, cancel})
}

// Executed returns a context in which reads are executed, also those of a command
// that is explained.
func Executed(ctx context.Context) context.Context {
	return context.WithValue(ctx, explanationKey{}, (*explaining)(nil))
}

type explaining struct {
	*Explanation
	cancel context.CancelCauseFunc
}

// explainingOf returns where to store the explanation of a request; nil: execute
// it. Capabilities and logins are always requested normally: they are not what a
// command is about.
func explainingOf(ctx context.Context, r request) *explaining {
	e, _ := ctx.Value(explanationKey{}).(*explaining)
	if e == nil || r.post && r.path != lookupPath || r.path == "/v1/results/capabilities" {
		return nil
	}
	return e
}

// note stores the answer.
func (e *explaining) note(resp *http.Response) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, e.Explanation)
		e.Record = text
	}
	if err != nil {
		return err
	}
	e.cancel(ErrExplained)
	return ErrExplained
}
