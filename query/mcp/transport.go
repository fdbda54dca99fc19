package mcp

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"preismon/contracts/fault"
	"preismon/query/admission"
	"preismon/query/wire"
)

// ServeHTTP answers one POST. Even if something is wrong with it, the body of
// the answer is JSON-RPC.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		h.refuseMethod(w)
		return
	}
	defer h.guard(w, r)
	err := h.serve(w, r)
	if err == nil {
		return
	}
	no, ok := errors.AsType[*refusal](err)
	if !ok {
		h.logFailure(&exchange{ctx: r.Context(), requestID: requestID(w)}, "POST /mcp", err)
		no = h.refusalOf(err, nil)
	}
	h.send(w, failed(no))
}

// refuseMethod answers a request that is not a POST, and so not a message, like
// any other path does.
func (h *handler) refuseMethod(w http.ResponseWriter) {
	p := wire.ProblemOf(fault.New(fault.Invalid, wire.CodeMethodNotAllowed, "This path takes POST only."), h.cfg.BaseURL)
	w.Header().Set("Allow", http.MethodPost)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(marshal(p))
}

// requestID returns the id that the edge of the service gave the request.
func requestID(w http.ResponseWriter) string { return w.Header().Get("X-Request-Id") }

func (h *handler) guard(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // a sentinel of panics
		panic(v)
	}
	h.logPanic(&exchange{ctx: r.Context(), requestID: requestID(w)}, "POST /mcp", v)
	h.send(w, failed(h.refusalOf(&fault.Error{Kind: fault.Internal}, nil)))
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	if err := h.fromHere(r); err != nil {
		return err
	}
	token, err := h.caller(r)
	if err != nil {
		return err
	}
	ctx, hold := h.auth.Hold(r.Context(), token)
	defer hold.Release()
	r = r.WithContext(ctx)
	from := sender{principal: token.Principal(), requestID: requestID(w)}
	p, err := h.read(w, r)
	if err == nil {
		from.version, err = versionOf(r.Header, p)
	}
	if err != nil || !p.asks() {
		if _, throttled := h.throttle.Read(token.Account); throttled != nil {
			return throttled
		}
	}
	switch {
	case err != nil:
		return err
	case !p.asks():
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	ctx = admission.WithAccount(r.Context(), token.Account)
	read, err := h.node.Begin(ctx, false, callBytes)
	if err != nil {
		return err
	}
	defer read.End()
	var held []*admission.Room
	defer func() {
		for _, room := range held {
			room.Release()
		}
	}()
	all := h.answer(ctx, from, p, func(r response) { held = append(held, read.Hold(int64(r.held()))) })
	if err := hold.Err(); err != nil {
		return h.unauthorized(err, true)
	}
	if !p.batch {
		h.send(w, all[0])
		return nil
	}
	responses := make([]response, len(all))
	for i, o := range all {
		responses[i] = o.response
	}
	write(w, http.StatusOK, array(responses))
	return nil
}

// callBytes is what a POST and its answers take in addition to their results.
const callBytes = 64 << 10

// asks reports whether anything in a POST needs an answer.
func (p post) asks() bool { return slices.ContainsFunc(p.messages, message.isRequest) }

// send answers a POST of one request, or refuses a whole POST.
func (h *handler) send(w http.ResponseWriter, o outcome) {
	if no := o.refusal; no != nil {
		if no.status == http.StatusTooManyRequests || no.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", strconv.FormatInt(max(1, int64((no.retryAfter+time.Second-1)/time.Second)), 10))
		}
		if no.challenge != "" {
			w.Header().Set("WWW-Authenticate", no.challenge)
		}
	}
	write(w, o.status, o.response)
}

// read reads the messages of a POST within the size limit.
func (h *handler) read(w http.ResponseWriter, r *http.Request) (post, error) {
	given := r.Header.Values("Content-Type")
	kind, _, err := mime.ParseMediaType(strings.Join(given, ","))
	if err != nil || kind != "application/json" {
		return post{}, invalidRequest(nil, "The header Content-Type is not application/json.")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return post{}, invalidRequest(nil, "The body must not be compressed.")
	}
	body, err := wire.ReadBody(w, r, h.cfg.MaxBodyBytes)
	switch {
	case fault.KindOf(err) == fault.TooLarge:
		return post{}, err
	case err != nil:
		return post{}, malformed(jsonrpc.CodeParseError, nil, "The body could not be read.")
	}
	// The deadline that the edge set for the body would end a long call.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return parse(body)
}
