package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/query/auth"
)

const requestIDHeader = "X-Request-Id"

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// exchange is one request and its answer, as the edge sees them. As a writer
// it notes what is sent and gives every piece of it a deadline of its own.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration

	id      string
	route   string
	account contracts.AccountID
	status  int
	bytes   int64
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// edge wraps everything: request id, security headers, access log.
func (a *api) edge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.now()
		x := &exchange{
			ResponseWriter: w, control: http.NewResponseController(w), stall: a.cfg.Stall,
			id: requestID(r), route: "none",
		}
		h := w.Header()
		h.Set(requestIDHeader, x.id)
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		defer func() {
			broken := recover()
			a.logAccess(r, x, a.now().Sub(start), broken != nil)
			if broken != nil {
				panic(broken)
			}
		}()
		if r.ContentLength != 0 { // also for a body that nobody reads: the server reads past it
			_ = x.control.SetReadDeadline(time.Now().Add(a.cfg.Stall))
		}
		next.ServeHTTP(x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	})
}

// requestID takes over the client's id when it is one line of harmless
// characters, else it makes one.
func requestID(r *http.Request) string {
	if given := r.Header.Values(requestIDHeader); len(given) == 1 && requestIDForm.MatchString(given[0]) {
		return given[0]
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// logAccess writes one line a request: no address, no query, no header.
func (a *api) logAccess(r *http.Request, x *exchange, took time.Duration, broken bool) {
	method := r.Method
	if len(method) > 16 {
		method = method[:16]
	}
	attrs := []slog.Attr{
		slog.String("method", method),
		slog.String("route", x.route),
		slog.Int("status", x.status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int64("bytes", x.bytes),
		slog.String("request_id", x.id),
	}
	if x.account != 0 {
		attrs = append(attrs, slog.String("account", x.account.String()))
	}
	if broken {
		attrs = append(attrs, slog.Bool("broken", true))
	}
	a.log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// logFailure writes the cause of an answer that is our fault.
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
	x.extend()
	x.ResponseWriter.WriteHeader(status)
}

// pieceBytes is what a client must take within one stall. It is more than a
// chunk of a stream, for each piece is a chunk of the transfer, and large ones
// cost both sides less.
const pieceBytes = 640 << 10

func (x *exchange) Write(p []byte) (written int, err error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	for first := true; first || len(p) > 0; first = false {
		piece := p[:min(len(p), pieceBytes)]
		x.extend()
		n, err := x.ResponseWriter.Write(piece)
		written, x.bytes, p = written+n, x.bytes+int64(n), p[len(piece):]
		if err != nil {
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
	return x.control.Flush()
}

// Flush is FlushError for those who know only http.Flusher.
func (x *exchange) Flush() { _ = x.FlushError() }

func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// extend gives the client another stall; a writer that knows no deadlines
// (of a test) goes without.
func (x *exchange) extend() { _ = x.control.SetWriteDeadline(time.Now().Add(x.stall)) }

// address is the key of the client's address. A proxy's word is taken only
// from trusted proxies, from the right, and over all lines of the header: a
// proxy may add a line of its own below one that the client made up.
func (a *api) address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	client, err := netip.ParseAddr(host)
	if err != nil {
		return "unknown"
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && a.trusts(client); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		client = hop
	}
	return auth.AddressKey(client)
}

func (a *api) trusts(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range a.cfg.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
