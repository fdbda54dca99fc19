package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

const explainPath = extendedBase + "/explain"

// explain reports whether a read would be accepted, and its size. The read
// takes its usual route with the caller's token, up to its first row of
// observations; both are counted as one request.
func (a *api) explain(routes http.Handler) handler {
	return func(c *gin.Context) error {
		c.Writer.Header().Add("Vary", "Accept")
		target, shown, err := explained(c.Request)
		if err != nil {
			return a.reads(func(*gin.Context, query.Principal) error { return err })(c)
		}
		x, e := exchangeOf(c.Request), &query.Explanation{}
		answer := &unsent{header: http.Header{}}
		routes.ServeHTTP(answer, target.WithContext(query.Explain(context.WithValue(target.Context(), unsentKey{}, answer), e)))
		x.route = explainPath
		err = answer.err
		if x.account == 0 && fault.KindOf(err) != fault.Unauthenticated && fault.KindOf(err) != fault.RateLimited {
			return a.reads(func(*gin.Context, query.Principal) error {
				return badRequest("path: it names no read of /v1 or /ext/v1.")
			})(c)
		}
		for _, name := range []string{limitHeader, remainingHeader, resetHeader, policyField, quotaField, "Connection"} {
			if values := answer.header[name]; values != nil {
				c.Writer.Header()[name] = values
			}
		}
		explained := wire.Explanation{
			Request: shown, Accepted: true, Window: e.Window, Sealed: e.Sealed, Pairs: e.Pairs,
			RowsAtMost: e.Rows, ScannedAtMost: e.Scanned, BytesAtMost: e.Bytes, Narrower: []string{},
		}
		switch kind := fault.KindOf(err); {
		case errors.Is(err, query.ErrExplained):
		case err == nil && target.Method == http.MethodHead && answer.status == http.StatusOK:
			explained.ContentType = new(answer.header.Get("Content-Type"))
			length, err := strconv.ParseUint(answer.header.Get("Content-Length"), 10, 64)
			if err != nil {
				return err
			}
			explained.BytesAtMost = &length
		case err == nil && answer.status == http.StatusOK: // it ran, because it needs no rows
			explained.BytesAtMost = &answer.bytes
		case err == nil:
			return errors.New("the read that was to be explained panicked")
		case kind == fault.Invalid || kind == fault.NotFound || kind == fault.Conflict || kind == fault.Gone, kind == fault.TooLarge && target.Method == http.MethodHead:
			p := wire.ProblemOf(err, a.cfg.BaseURL)
			explained.Accepted, explained.Problem = false, &p
			explained.Narrower = append(explained.Narrower, answer.narrower...)
		default: // the fault of the caller or of this node, not of the request
			return err
		}
		return a.sendExplanation(c, &explained)
	}
}

// sendExplanation sends an explanation in the form that is requested; as a table
// it is one record.
func (a *api) sendExplanation(c *gin.Context, e *wire.Explanation) error {
	f := formOf(c.Request.Header.Values("Accept"), pageForms)
	if f == &jsonForm {
		return a.writeJSON(c, e)
	}
	record, err := e.Record()
	if err != nil {
		return err
	}
	return a.sendRecords(c, f, record, nil)
}

// explained returns the request to explain, as the server gets it and as it is
// shown: the named path, with all other parameters unchanged, as JSON. A lookup has its
// identifiers in the body, and of a file only what HEAD returns is of interest.
func explained(r *http.Request) (request *http.Request, shown string, err error) {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, "", badRequest("path: the query string is malformed, a wrong percent-encoding or a semicolon.")
	}
	var path, rest []string
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		if name != "path" {
			rest = append(rest, part)
			continue
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, "", err // it was parsed above
		}
		path = append(path, value)
	}
	switch {
	case len(path) != 1:
		return nil, "", badRequest("path: give the path of one read, like /v1/results, and its parameters as further query parameters.")
	case !underContract(path[0]) || path[0] == explainPath || strings.Contains(path[0], "?"):
		return nil, "", badRequest("path: it names no read of /v1 or /ext/v1. Give the path without parameters, and the parameters of the read as further query parameters.")
	}
	request = r.Clone(r.Context())
	request.Header.Del("Accept") // that of the explanation
	request.Method, request.URL = http.MethodGet, &url.URL{Path: path[0], RawQuery: strings.Join(rest, "&")}
	shown = request.URL.RequestURI()
	for _, condition := range []string{"If-Match", "If-None-Match"} {
		request.Header.Del(condition)
	}
	switch {
	case path[0] == lookupPath:
		err = postLookup(request)
	case strings.HasSuffix(path[0], downloadPath):
		request.Method, request.Body, request.ContentLength = http.MethodHead, http.NoBody, 0
	}
	return request, shown, err
}

// postLookup makes a request a lookup of the identifiers in its parameters.
func postLookup(r *http.Request) error {
	parameters := r.URL.Query()
	body, err := wire.LookupBody(parameters)
	r.Method, r.URL.RawQuery = http.MethodPost, parameters.Encode()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Del("Content-Encoding")
	return err
}

type unsentKey struct{}

// unsent is the answer of a read that is being explained: no client gets it.
type unsent struct {
	header   http.Header
	status   int
	bytes    uint64
	err      error    // why there is none
	narrower []string // requests that together cover what was refused
}

// unsentOf returns the answer that a request is for; nil: one that is sent.
func unsentOf(r *http.Request) *unsent {
	u, _ := r.Context().Value(unsentKey{}).(*unsent)
	return u
}

func (u *unsent) Header() http.Header { return u.header }

func (u *unsent) WriteHeader(status int) { u.status = status }

func (u *unsent) Write(p []byte) (int, error) {
	u.bytes += uint64(len(p))
	return len(p), nil
}

func (u *unsent) Flush() {}
