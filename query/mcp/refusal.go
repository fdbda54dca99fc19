package mcp

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"preismon/contracts/fault"
	"preismon/query/wire"
)

// refusal is why a POST, or one message of it, has no result: an HTTP status
// and a JSON-RPC error.
type refusal struct {
	status     int
	id         json.RawMessage // nil: null
	code       int64
	message    string
	data       any // nil: none
	challenge  string
	retryAfter time.Duration
}

func (r *refusal) Error() string { return r.message }

// refusalOf expresses a fault in JSON-RPC, with the problem object of the
// contract as its data. Where JSON-RPC has no code, the status is the code: the
// protocol leaves the numbers outside its own range to applications.
func (h *handler) refusalOf(err error, id json.RawMessage) *refusal {
	p := wire.ProblemOf(err, h.cfg.BaseURL)
	r := &refusal{status: p.Status, id: id, code: int64(p.Status), message: p.Detail, data: p, retryAfter: p.RetryAfter}
	switch p.Status {
	case http.StatusInternalServerError:
		r.code = jsonrpc.CodeInternalError
	case http.StatusBadRequest, http.StatusNotFound:
		r.code = jsonrpc.CodeInvalidParams
	}
	return r
}

// logFailure logs the cause of an answer that is our fault.
func (h *handler) logFailure(x *exchange, operation string, err error) {
	level := slog.LevelWarn
	switch fault.KindOf(err) {
	case fault.Internal:
		level = slog.LevelError
	case fault.Unavailable, fault.Timeout:
	default:
		return // the client's fault
	}
	h.log.LogAttrs(x.ctx, level, "request failed",
		slog.String("operation", operation), slog.String("request_id", x.requestID), slog.Any("error", err))
}

func (h *handler) logPanic(x *exchange, operation string, v any) {
	h.log.LogAttrs(x.ctx, slog.LevelError, "request panicked",
		slog.String("operation", operation), slog.String("request_id", x.requestID),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}
