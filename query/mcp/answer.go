package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/auth"
)

// exchange is one request and what results from it.
type exchange struct {
	ctx       context.Context
	requestID string
	principal query.Principal
	operation string // for the log
	budget    Budget

	result   Result   // of a tool
	contents contents // of a resource
	failure  error    // in place of a result
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// outcome is a response and its form in HTTP if it answers a POST of one
// request.
type outcome struct {
	response
	status  int
	refusal *refusal // nil: none
}

// sender is the sender of a POST, and the version that it uses.
type sender struct {
	principal query.Principal
	version   string
	requestID string
}

// answer answers the requests of a POST one after another. hold is called for
// each answer, which is in use until all of them are sent.
func (h *handler) answer(ctx context.Context, from sender, p post, hold func(response)) []outcome {
	requests := slices.DeleteFunc(slices.Clone(p.messages), func(m message) bool { return !m.isRequest() })
	s := shares{left: h.cfg.MaxResponseBytes, floors: make([]int, len(requests))}
	if p.batch {
		s.left -= len("[]") + len(requests) - 1
	}
	for i, m := range requests {
		s.floors[i] = h.refused + len(m.id)
	}
	all := make([]outcome, len(requests))
	for i, m := range requests {
		share := s.share()
		all[i] = h.one(ctx, from, m, share)
		if size := all[i].size(); size > share {
			all[i] = failed(h.replaced(from.version, m, size, share))
		}
		s.take(all[i].size())
		hold(all[i].response)
	}
	return all
}

// one answers a request. The result of a tool keeps to its share; the caller
// must check whether other results do.
func (h *handler) one(ctx context.Context, from sender, m message, share int) outcome {
	x := &exchange{requestID: from.requestID, principal: from.principal, operation: m.method, budget: Budget{share - h.envelope - len(m.id)}}
	if m.method == "tools/call" {
		name, _ := text(members(m.params)["name"])
		x.operation += " " + clip(name)
	}
	x.ctx = context.WithValue(ctx, exchangeKey{}, x)
	server, methods := h.legacy, legacyMethods
	if from.version == modernVersion {
		server, methods = h.modern, modernMethods
	}
	_, x.failure = h.throttle.Read(from.principal.Account)
	switch {
	case x.failure != nil && m.method != "tools/call":
		return failed(h.refusalOf(x.failure, m.id))
	case !slices.Contains(methods, m.method):
		return failed(refusedIn(from.version, m.id, jsonrpc.CodeMethodNotFound, "This method is not known.", nil))
	}
	r, err := converse(x.ctx, server, from.version, m)
	switch ended := auth.Ended(ctx); {
	case ended != nil:
		err = ended
	case ctx.Err() != nil:
		panic(http.ErrAbortHandler) // the client left
	}
	if err != nil {
		x.failure = err
	}
	if x.failure != nil {
		if !errors.Is(x.failure, errPanicked) {
			h.logFailure(x, x.operation, x.failure)
		}
		return h.failure(x, from.version, m, r)
	}
	if r.Error != nil {
		return failed(h.sdkRefusal(x, from.version, m.id, r.Error))
	}
	if m.method == "tools/call" {
		if from.version == assumedVersion {
			x.result.Link = nil // which that version does not know; the object contains it too
		}
		return outcome{response: toolResponse(m.id, x.result, others(from.version, r.Result)), status: http.StatusOK}
	}
	if m.method == "resources/read" {
		return outcome{response: resourceResponse(m.id, x.contents, others(from.version, r.Result)), status: http.StatusOK}
	}
	return outcome{response: resultResponse(m.id, marshal(profiled(from.version, r.Result))), status: http.StatusOK}
}

// failed returns the outcome of a request without a result.
func failed(r *refusal) outcome {
	return outcome{response: errorResponse(r), status: r.status, refusal: r}
}

// failure reports what went wrong: for a tool in its result, for other methods
// in an error. An account that is no longer valid must get a new token.
func (h *handler) failure(x *exchange, version string, m message, r *jsonrpc.Response) outcome {
	no := h.refusalOf(x.failure, m.id)
	if fault.KindOf(x.failure) == fault.Unauthenticated {
		no.challenge = h.challenge(true)
		return failed(no)
	}
	if m.method == "tools/call" && r != nil && r.Error == nil {
		result := h.failedResult(x.failure)
		if !x.budget.Fits(result.Object) {
			result = problemResult(no.data)
		}
		if !x.budget.Fits(result.Object) {
			result = problemResult(h.refusalOf(h.tooLarge(Cost(result.Object), x.budget.Remaining()), nil).data)
		}
		return outcome{response: toolResponse(m.id, result, others(version, r.Result)), status: http.StatusOK, refusal: no}
	}
	switch no.status {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable: // which HTTP can express
	default:
		no.status = statusIn(version, no.code)
	}
	return failed(no)
}

func problemResult(problem any) Result {
	return Result{Object: marshal(problem), Failed: true}
}

// replaced returns the refusal that replaces a response that does not fit.
func (h *handler) replaced(version string, m message, size, share int) *refusal {
	no := h.refusalOf(h.tooLarge(size, share), m.id)
	no.status = statusIn(version, no.code)
	return no
}

func (h *handler) tooLarge(size, left int) error {
	return fault.New(fault.Invalid, query.CodeResponseTooLarge,
		"The response would have %d bytes; %d are left of the %d of a whole answer. Ask with a lower limit, with fewer field groups, or in a request of its own.",
		size, left, h.cfg.MaxResponseBytes)
}

// measure determines how large the fixed parts of responses can be.
func (h *handler) measure() error {
	modern := map[string]json.RawMessage{"resultType": json.RawMessage(`"complete"`)}
	meta, err := json.Marshal(map[string]any{sdk.MetaKeyServerInfo: sdk.Implementation{Name: serverName, Version: h.cfg.Build}})
	if err != nil {
		return err
	}
	modern["_meta"] = meta
	h.envelope = toolResponse(nil, Result{Failed: true}, modern).size()
	no := h.refusalOf(h.tooLarge(math.MaxInt, math.MaxInt), nil)
	h.refused = max(h.envelope+Cost(problemResult(no.data).Object), errorResponse(no).size())
	return nil
}

// sdkRefusal reports an error of the SDK. Messages that the SDK writes for
// clients are passed on; others may reveal our internals or repeat all that was
// sent, so only a piece of them is logged. Params of initialize that do not
// decode are a JSON error there, not a JSON-RPC error.
func (h *handler) sdkRefusal(x *exchange, version string, id json.RawMessage, err error) *refusal {
	if e, ok := err.(*jsonrpc.Error); ok { //nolint:errorlint // a wrapped one has another message
		return refusedIn(version, id, e.Code, clip(e.Message), e.Data)
	}
	e, coded := errors.AsType[*jsonrpc.Error](err)
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	if wrongType || coded && e.Code != jsonrpc.CodeInternalError {
		return refusedIn(version, id, jsonrpc.CodeInvalidParams, "The params are not those of this method.", nil)
	}
	err = &fault.Error{Kind: fault.KindOf(err), Err: errors.New("sdk: " + clipTo(err.Error(), maxLogged))}
	h.logFailure(x, x.operation, err)
	return h.refusalOf(err, id)
}

func refusedIn(version string, id json.RawMessage, code int64, message string, data json.RawMessage) *refusal {
	r := &refusal{status: statusIn(version, code), id: id, code: code, message: message}
	if data != nil {
		r.data = data
	}
	return r
}
