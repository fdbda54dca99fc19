package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/auth"
)

const requestIDHeader = "X-Request-Id"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// exchange is one request and its answer, as the edge sees them. As a writer it
// records what is sent and gives each piece its own deadline.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace       // of the client
	hold    *auth.Hold // nil: no token is needed
	cut     cut

	id      string
	head    bool // the server omits the body
	route   string
	account contracts.AccountID
	status  int
	code    string // of a problem
	bytes   int64
	span    trace.Span // nil: no traces
}

// Served describes one request that has ended.
type Served struct {
	Operation string // method and route, like "GET /v1/orders/:orderId"
	Status    int    // 0: none was sent
	Code      string // of the problem, if it was one
	Bytes     int64  // of the body, as sent
	Took      time.Duration
	Broken    bool // the transfer was broken off
	Slow      bool // because the client took too little
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// edge wraps everything: request id, security headers, trace, access log.
func (a *api) edge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.now()
		x := &exchange{
			ResponseWriter: w, control: http.NewResponseController(w), pace: pace{stall: a.cfg.Stall, least: a.cfg.MinRate},
			id: requestID(r), head: r.Method == http.MethodHead, route: noRoute,
		}
		served := a.serving()
		ctx := a.begin(query.WithRequestID(context.WithValue(r.Context(), exchangeKey{}, x), x.id), r, x)
		ctx = auth.WithOnEnd(ctx, func(error) { x.cutOff(ctx) })
		r = r.WithContext(ctx)
		h := w.Header()
		h.Set(requestIDHeader, x.id)
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		defer func() {
			broken := recover()
			if x.pace.slow { // whatever the handler did with it, nothing ends properly
				a.logSlow(r, x)
				broken = http.ErrAbortHandler
			}
			s := Served{
				Operation: operationOf(r, x), Status: x.status, Code: x.code, Bytes: x.bytes, Took: a.now().Sub(start), Broken: broken != nil, Slow: x.pace.slow,
			}
			a.logAccess(r, x, s)
			x.end(s)
			served(s)
			if broken != nil {
				panic(broken)
			}
		}()
		if r.ContentLength != 0 { // also for a body that no handler reads: the server discards it
			_ = x.control.SetReadDeadline(time.Now().Add(a.cfg.Stall))
		}
		next.ServeHTTP(x, r)
		if x.isCut() {
			panic(http.ErrAbortHandler)
		}
		x.extend() // the server still writes the end, possibly long after the last row
	})
}

// requestID returns the client's id if it is one line of harmless characters;
// otherwise it creates one.
func requestID(r *http.Request) string {
	if given := r.Header.Values(requestIDHeader); len(given) == 1 && requestIDForm.MatchString(given[0]) {
		return given[0]
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// methodOf returns the method of a request, or other: callers may make up any.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "other"
}

// operationOf returns one of a bounded number of names, whatever callers send.
func operationOf(r *http.Request, x *exchange) string {
	if x.route == noRoute {
		return noRoute
	}
	return methodOf(r) + " " + x.route
}

// noRoute stands for every path and method that is not served.
const noRoute = "none"

// logAccess writes one line per request, without addresses, queries or headers.
func (a *api) logAccess(r *http.Request, x *exchange, s Served) {
	if !a.log.Enabled(r.Context(), a.cfg.AccessLevel) {
		return
	}
	method := r.Method
	if len(method) > 16 {
		method = method[:16]
	}
	attrs := []slog.Attr{
		slog.String("method", method),
		slog.String("route", x.route),
		slog.Int("status", x.status),
		slog.Float64("duration_ms", float64(s.Took.Microseconds())/1000),
		slog.Int64("bytes", x.bytes),
		slog.String("request_id", x.id),
	}
	if x.account != 0 {
		attrs = append(attrs, slog.String("account", x.account.String()))
	}
	if x.code != "" {
		attrs = append(attrs, slog.String("code", x.code))
	}
	if s.Broken {
		attrs = append(attrs, slog.Bool("broken", true))
	}
	if id := x.traceID(); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	a.log.LogAttrs(r.Context(), a.cfg.AccessLevel, "request", attrs...)
}

// logFailure logs the cause of an answer that is our fault.
func (a *api) logFailure(r *http.Request, level slog.Level, err error) {
	x := exchangeOf(r)
	a.log.LogAttrs(r.Context(), level, "request failed",
		slog.String("operation", r.Method+" "+x.route), slog.String("request_id", x.id), slog.Any("error", err))
}

func (a *api) logPanic(r *http.Request, v any) {
	x := exchangeOf(r)
	a.log.LogAttrs(r.Context(), slog.LevelError, "request panicked",
		slog.String("operation", r.Method+" "+x.route), slog.String("request_id", x.id),
		slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}

func (x *exchange) WriteHeader(status int) {
	if x.status != 0 {
		return
	}
	if status >= 200 {
		x.status = status
	}
	x.begins(status)
	x.extend()
	x.ResponseWriter.WriteHeader(status)
}

// pieceBytes is more than a chunk of a stream, because each piece is a chunk of
// the transfer, and large ones cost both sides less.
const pieceBytes = 256 << 10

func (x *exchange) Write(p []byte) (written int, err error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	for first := true; first || len(p) > 0; first = false {
		piece := p[:min(len(p), pieceBytes)]
		x.extend()
		began := time.Now()
		n, err := x.ResponseWriter.Write(piece)
		written, p = written+n, p[len(piece):]
		if !x.head {
			x.bytes += int64(n)
		}
		if err = x.pace.took(n, time.Since(began), err); err != nil {
			return written, err
		}
	}
	return written, nil
}

func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	x.extend()
	began := time.Now()
	return x.pace.took(0, time.Since(began), x.control.Flush())
}

// Flush is FlushError for callers that know only http.Flusher.
func (x *exchange) Flush() { _ = x.FlushError() }

func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }
