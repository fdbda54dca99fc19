package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Explanation is what the server says of a request that it was not sent.
type Explanation struct {
	Request                                       string
	Accepted                                      bool
	Problem                                       *Problem
	Window                                        *struct{ CapturedFrom, CapturedTo, Timezone string }
	Sealed                                        *bool
	Pairs, RowsAtMost, ScannedAtMost, BytesAtMost *uint64
	Narrower                                      []string
}

// ErrExplained ends what was to be explained.
var ErrExplained = errors.New("explained")

type explanationKey struct{}

// Explain has the first read that is done with the context it gives explained:
// it is noted, and what was to read ends, for the context does.
func Explain(ctx context.Context, e *Explanation) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, explanationKey{}, &explaining{e, cancel})
}

type explaining struct {
	*Explanation
	cancel context.CancelCauseFunc
}

// explainingOf gives what a request is explained in; nil: it is made. What a
// server can do is asked for as always: it is not what a command is about.
func explainingOf(ctx context.Context, r request) *explaining {
	e, _ := ctx.Value(explanationKey{}).(*explaining)
	if e == nil || r.post || r.path == "/v1/results/capabilities" {
		return nil
	}
	return e
}

// of is the request that asks for the explanation of another.
func (e *explaining) of(r request) request {
	params := url.Values{"path": {r.path}}
	for name, values := range r.params {
		params[name] = values
	}
	return request{path: "/ext/v1/explain", params: params}
}

// note takes the answer.
func (e *explaining) note(resp *http.Response) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, e.Explanation)
	}
	if err != nil {
		return err
	}
	e.cancel(ErrExplained)
	return ErrExplained
}
