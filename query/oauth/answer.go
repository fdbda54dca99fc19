package oauth

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"preismon/contracts/fault"
	"preismon/query/oauth/page"
)

// Error codes of RFC 6749, RFC 7591, RFC 8707 and OpenID Connect. They are used
// as the codes of faults here.
const (
	codeInvalidRequest      = "invalid_request"
	codeInvalidClient       = "invalid_client"
	codeInvalidGrant        = "invalid_grant"
	codeInvalidScope        = "invalid_scope"
	codeInvalidTarget       = "invalid_target"
	codeUnsupportedGrant    = "unsupported_grant_type"
	codeUnsupportedResponse = "unsupported_response_type"
	codeAccessDenied        = "access_denied"
	codeLoginRequired       = "login_required"
	codeRequestUnsupported  = "request_not_supported"
	codeURIUnsupported      = "request_uri_not_supported"
	codeInvalidMetadata     = "invalid_client_metadata"
	codeInvalidRedirect     = "invalid_redirect_uri"
	codeServerError         = "server_error"
	codeUnavailable         = "temporarily_unavailable"
)

func refuse(code, format string, args ...any) error {
	return fault.New(fault.Invalid, code, format, args...)
}

// unknownClient is answered with 401, which makes clients register again.
func unknownClient(format string, args ...any) error {
	return fault.New(fault.Unauthenticated, codeInvalidClient, format, args...)
}

var errMethod = fault.New(fault.Invalid, codeInvalidRequest, "This path does not take this method. Allow says which it takes.")

// failure is an error as it is reported to the caller.
type failure struct {
	status int
	code   string
	text   string // for people
	retry  time.Duration
}

func failureOf(err error) failure {
	f := failure{status: http.StatusInternalServerError, code: codeServerError, text: "An internal error occurred."}
	var e *fault.Error
	known := errors.As(err, &e)
	switch kind := fault.KindOf(err); {
	case err == errMethod:
		return failure{status: http.StatusMethodNotAllowed, code: errMethod.Code, text: errMethod.Msg}
	case kind == fault.Timeout || kind == fault.Unavailable:
		f = failure{http.StatusServiceUnavailable, codeUnavailable, "The server cannot decide this at the moment. Try again shortly.", retryShortly}
		if known && e.RetryAfter > 0 {
			f.retry = e.RetryAfter
		}
		if known && e.Code == codeInvalidClient { // its document is unavailable, not this server
			f.code, f.text = e.Code, e.Msg
		}
	case kind == fault.RateLimited:
		f = failure{http.StatusTooManyRequests, codeUnavailable, "Too many requests. Wait as long as Retry-After says.", e.RetryAfter}
	case kind == fault.TooLarge:
		f = failure{status: http.StatusRequestEntityTooLarge, code: codeInvalidRequest, text: e.Msg}
	case kind == fault.Unauthenticated:
		f = failure{status: http.StatusUnauthorized, code: e.Code, text: e.Msg}
	case kind == fault.Invalid:
		f = failure{status: http.StatusBadRequest, code: e.Code, text: e.Msg}
	}
	return f
}

const retryShortly = 5 * time.Second

func (f failure) headers(w http.ResponseWriter) {
	if f.retry > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((f.retry+time.Second-1)/time.Second), 10))
	}
}

// logFailure logs the cause of an answer that is not the caller's fault.
func (s *Server) logFailure(w http.ResponseWriter, r *http.Request, f failure, err error) {
	if f.status < 500 {
		return
	}
	s.log.WarnContext(r.Context(), "oauth request failed", "operation", r.Method+" "+r.URL.Path,
		"request_id", w.Header().Get("X-Request-Id"), "error", err)
}

type errorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

// failJSON answers in the form of RFC 6749, section 5.2.
func (s *Server) failJSON(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	s.logFailure(w, r, f, err)
	f.headers(w)
	if f.status == http.StatusUnauthorized {
		if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); scheme != "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="no client has a secret here"`)
		}
	}
	writeJSON(w, f.status, errorBody{f.code, f.text})
}

// failPage answers a person with a page.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, err error) {
	f := failureOf(err)
	s.logFailure(w, r, f, err)
	f.headers(w)
	p := page.Problem{Reason: f.reason(), Wait: f.retry, Code: f.code, Detail: f.text, RequestID: w.Header().Get("X-Request-Id")}
	if f.status == http.StatusUnauthorized { // 401 is for credentials of HTTP
		f.status = http.StatusBadRequest
	}
	s.show(w, r, f.status, p)
}

// show answers with a page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, p page.Page) {
	if err := page.Render(w, r, status, p); err != nil {
		s.logFailure(w, r, failure{status: http.StatusInternalServerError}, err)
		http.Error(w, "An internal error occurred.", http.StatusInternalServerError)
	}
}

// reason returns what a person is told about a failure.
func (f failure) reason() page.Reason {
	switch {
	case f.status == http.StatusUnauthorized:
		return page.UnknownClient
	case f.code == codeInvalidClient:
		return page.ClientUnreachable
	case f.code == codeInvalidRedirect:
		return page.BadRedirect
	case f.status == http.StatusTooManyRequests:
		return page.TooManyRequests
	case f.status == http.StatusServiceUnavailable:
		return page.Unavailable
	case f.status >= 500:
		return page.Internal
	}
	return page.BadRequest
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // it holds only strings, numbers and lists of them
		panic(err)
	}
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (e endpoint) allow() string {
	names := slices.Collect(maps.Keys(e.methods))
	if e.open {
		names = append(names, http.MethodOptions)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// openToAll lets pages of every origin send requests and read the answers:
// clients also run in browsers, and these paths use no cookie. It answers
// preflights itself.
func openToAll(w http.ResponseWriter, r *http.Request, e endpoint) (done bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate, X-Request-Id")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", e.allow())
	h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, MCP-Protocol-Version, X-Request-Id")
	h.Set("Access-Control-Max-Age", "600")
	h.Set("Allow", e.allow())
	w.WriteHeader(http.StatusNoContent)
	return true
}
