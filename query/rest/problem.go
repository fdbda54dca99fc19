package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/auth"
)

// Codes that this package gives.
const (
	codeSchemeNotAllowed = "AUTH_SCHEME_NOT_ALLOWED"
	codePayloadTooLarge  = query.CodePayloadTooLarge
	codeRange            = "RANGE_NOT_SATISFIABLE"
	codeRateLimit        = "RATE_LIMIT_EXCEEDED"
	codeNotFound         = "NOT_FOUND"
	codeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	codeInternal         = "INTERNAL_ERROR"
	codeLogoutFailed     = "LOGOUT_REVOCATION_FAILED"
	codeUnavailable      = "SERVICE_UNAVAILABLE"

	codeCategoryNotAvailable = "ITEM_CATEGORY_NOT_AVAILABLE" // of an MCP tool; its page is here
)

// meaning is what a code stands for, in an answer and on its page.
type meaning struct {
	status int
	title  string
	detail string // where the error has no sentence of its own
	remedy string // on the page
}

// meanings is the one table from codes to statuses. A code that is not in it
// goes by its kind.
var meanings = map[string]meaning{
	query.CodeValidation: {
		http.StatusBadRequest, "Request not valid", "The request is not valid.",
		"Something in the request is missing, malformed, unknown or out of range. The detail names it. Mend it and send a new request; the same request fails again.",
	},
	query.CodeScopeTooBroad: {
		http.StatusBadRequest, "Scope too broad", "The scope and the window of the read are too broad.",
		"Send a new request with a narrower scope (itemId, pzn, ean, asin with asinLocale, orderId, site), a narrower window, or both. A global read keeps both bounds, has no selectors and covers at most 168 hours. A cursor, another sort or the stream does not get around this.",
	},
	query.CodeLatestPairTooBroad: {
		http.StatusBadRequest, "Too many pairs for latestPerPair", "latestPerPair covers too many item-site pairs.",
		"latestPerPair reads at most 1,000 item-site pairs. Narrow with itemId, orderId, site, pzn, ean or asin.",
	},
	query.CodeResponseTooLarge: {
		http.StatusBadRequest, "Response too large", "The response would be too large.",
		"A complete response, or one line of a stream, may have at most 64 MiB; it is never cut. Ask with a lower limit or with fewer field groups.",
	},
	codeCategoryNotAvailable: {
		http.StatusBadRequest, "Category not available", "The category is not one of those that can be filtered by.",
		"Ask list_items with discoverCategories=true which categories your data has, or leave category out.",
	},
	query.CodeTokenInvalid: {
		http.StatusUnauthorized, "Access token not valid", "The access token is missing, expired, malformed or revoked.",
		"Get a new token from POST /v1/auth/token and send it as Authorization: Bearer <ACCESS_TOKEN>.",
	},
	auth.CodeCredentialsInvalid: {
		http.StatusUnauthorized, "Credentials not valid", "The login or the password is wrong.",
		"The login, the password or the account is not accepted. Administrative accounts are not supported. The answer is the same in each case.",
	},
	codeSchemeNotAllowed: {
		http.StatusUnauthorized, "Authentication scheme not allowed", "Basic authentication is not accepted here. Get a token from POST /v1/auth/token and send it as Bearer.",
		"Domain endpoints take Authorization: Bearer <ACCESS_TOKEN> only. Get a token from POST /v1/auth/token.",
	},
	query.CodeForbidden: {
		http.StatusForbidden, "Not permitted", "This account may not read this.",
		"The token is valid, but its account has no permission for this area. A new token does not help; ask whoever manages the account.",
	},
	query.CodeItemTooBroad: {
		http.StatusBadRequest, "Too many candidates", "The search for items spans too many candidates.",
		"A search by identifiers inspects at most 10,000 candidates for a page, and at most 256 ASIN locale keys are listed. Narrow the identifier, lower limit, or go on from a later cursor, which has a budget of its own.",
	},
	query.CodeOrderCoverageTooBroad: {
		http.StatusBadRequest, "Orders span too much", "The orders span too many candidates.",
		"Monitoring covers at most 10,000 order-site pairs, coverage at most 10,000 active order-item references and 10,000 item-site candidates, over all orders of the page. Narrow with orderId or a lower limit, or omit the enrichment.",
	},
	query.CodeOrderNotFound: {
		http.StatusNotFound, "Order not found", "There is no such order that you may see.",
		"The order does not exist, or this account may not see it; the two look the same. Take the orderId from GET /v1/orders.",
	},
	codeNotFound: {
		http.StatusNotFound, "Not found", "There is nothing at this path.",
		"The path is not one of the contract. See the machine-readable contract for those that are.",
	},
	codeMethodNotAllowed: {
		http.StatusMethodNotAllowed, "Method not allowed", "This path does not take this method.",
		"The header Allow names the methods that the path takes.",
	},
	query.CodeOrderTooBroad: {
		http.StatusBadRequest, "Too many exports in the order", "The order has too many exports to find a complete page of those asked for.",
		"One request looks at no more than 10,000 exports of an order, one after the other. Leave out exportName and follow the pages, or lower the limit.",
	},
	query.CodeHistoryTooBroad: {
		http.StatusBadRequest, "Too many archived files in the order", "The order has too many archive documents or archived files to look through.",
		"The history of an order's exports, or of its imports, is looked through as a whole: at most 1,000 archive documents with 10,000 files. Filters do not help. Ask whoever manages the order to have old files removed.",
	},
	query.CodeArtifactNotFound: {
		http.StatusNotFound, "Archived file not found", "No archived file of the order matches.",
		"Nothing in the history of the order matches the filters. List it with GET .../history and take the names from there.",
	},
	query.CodeContentMissing: {
		http.StatusConflict, "Content missing", "The file is in the catalogue, but its content is in none of the archives.",
		"The file was archived once, but no archive has its content any more. Another attempt does not help; another file of the history may.",
	},
	codeRange: {
		http.StatusRequestedRangeNotSatisfiable, "Range not satisfiable", "The file has no such range of bytes.",
		"The header Content-Range of this answer says how many bytes the file has. Leave out the header Range to get all of them.",
	},
	codePayloadTooLarge: {
		http.StatusRequestEntityTooLarge, "Payload too large", "The payload is too large.",
		"actualBytes is the known size, or the size seen when reading stopped; maxBytes is what is permitted.",
	},
	codeRateLimit: {
		http.StatusTooManyRequests, "Rate limit exceeded", "Too many requests.",
		"Wait as many seconds as Retry-After says. X-RateLimit-Limit, -Remaining and -Reset on every answer tell where the account stands.",
	},
	codeInternal: {
		http.StatusInternalServerError, "Internal error", "Something went wrong on our side. The X-Request-Id of this answer helps to find it.",
		"The fault is ours. Try again later; if it stays, tell us the X-Request-Id of the answer.",
	},
	codeLogoutFailed: {
		http.StatusInternalServerError, "Revocation failed", "The token could not be revoked. It may stay valid until it expires.",
		"The revocation could not be written. The token may stay valid until it expires. Try the logout again.",
	},
	codeUnavailable: {
		http.StatusServiceUnavailable, "Service unavailable", "The service is not available at the moment.",
		"Wait as many seconds as Retry-After says, then try again.",
	},
	query.CodeQueryTimeout: {
		http.StatusGatewayTimeout, "Query timeout", "The read did not finish within its time budget.",
		"Narrow the product, the site or the window, and send a new request.",
	},
}

// kindCodes are the codes of errors that have none.
var kindCodes = map[fault.Kind]string{
	fault.Internal:        codeInternal,
	fault.Invalid:         query.CodeValidation,
	fault.Unauthenticated: query.CodeTokenInvalid,
	fault.Forbidden:       query.CodeForbidden,
	fault.NotFound:        codeNotFound,
	fault.Conflict:        codeInternal,
	fault.TooLarge:        codePayloadTooLarge,
	fault.RateLimited:     codeRateLimit,
	fault.Timeout:         query.CodeQueryTimeout,
	fault.Unavailable:     codeUnavailable,
}

// problem is an answer that says what is wrong: the strict problem details
// of the contract (RFC 9457), and what goes into headers.
type problem struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Status      int    `json:"status"`
	Detail      string `json:"detail"`
	Code        string `json:"code"`
	ActualBytes *int64 `json:"actualBytes,omitempty"`
	MaxBytes    *int64 `json:"maxBytes,omitempty"`

	retryAfter time.Duration
}

// problemOf turns an error into a problem. Nothing of an internal error
// shows but its code.
func problemOf(err error) problem {
	e := &fault.Error{Kind: fault.KindOf(err)}
	errors.As(err, &e)
	code := e.Code
	m, known := meanings[code]
	if !known {
		byKind := kindCodes[e.Kind]
		m = meanings[byKind]
		if code == "" || e.Kind == fault.Internal {
			code = byKind
		}
	}
	p := problem{Title: m.title, Status: m.status, Detail: m.detail, Code: code, retryAfter: e.RetryAfter}
	if e.Msg != "" && e.Kind != fault.Internal {
		p.Detail = e.Msg
	}
	if p.Status == http.StatusRequestEntityTooLarge {
		if e.ActualBytes >= 0 {
			p.ActualBytes = &e.ActualBytes
			p.Detail += fmt.Sprintf(" Actual size: %d bytes.", e.ActualBytes)
		}
		if e.MaxBytes >= 0 {
			p.MaxBytes = &e.MaxBytes
			p.Detail += fmt.Sprintf(" Maximum: %d bytes.", e.MaxBytes)
		}
	}
	return p
}

// fail answers a request with an error, and logs it when it is our fault.
func (a *api) fail(c *gin.Context, err error) {
	p := problemOf(err)
	switch {
	case p.Status >= http.StatusInternalServerError && c.Request.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client left, which is why it failed
	case p.Status == http.StatusInternalServerError:
		a.logFailure(c.Request, slog.LevelError, err)
	case p.Status > http.StatusInternalServerError:
		a.logFailure(c.Request, slog.LevelWarn, err)
	}
	a.write(c, p)
}

// write sends a problem.
func (a *api) write(c *gin.Context, p problem) {
	p.Type = a.cfg.BaseURL + "/problems/" + pageName(p.Code)
	h := c.Writer.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(max(1, seconds(p.retryAfter)), 10))
	}
	body, err := marshal(p)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	c.Writer.WriteHeader(p.Status)
	_, _ = c.Writer.Write(body)
}

// marshal writes JSON without a line end, and without the escapes that only
// JSON inside HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (a *api) writeJSON(c *gin.Context, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	return a.writeBody(c, body)
}

// writeBody sends a complete JSON answer. One that is too large is refused
// before its first byte.
func (a *api) writeBody(c *gin.Context, body ...[]byte) error {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	if size > a.cfg.MaxResponseBytes {
		return fault.New(fault.Invalid, query.CodeResponseTooLarge,
			"The complete response would have %d bytes, at most %d. Send a new request with a lower limit or fewer field groups.", size, a.cfg.MaxResponseBytes)
	}
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	c.Writer.WriteHeader(http.StatusOK)
	for _, part := range body {
		if _, err := c.Writer.Write(part); err != nil {
			break // who does not get all of it sees it by the length
		}
	}
	return nil
}

func pageName(code string) string { return strings.ReplaceAll(strings.ToLower(code), "_", "-") }

var pages = template.Must(template.New("problem").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Code}}</title>
<h1>{{.Title}}</h1>
<p>Status {{.Status}}, code <code>{{.Code}}</code></p>
<p>{{.Remedy}}</p>
</html>
`))

// problemPage tells people what a problem's type means.
func (a *api) problemPage(c *gin.Context) error {
	name := c.Param("code")
	code := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	m, ok := meanings[code]
	if !ok || pageName(code) != name {
		return fault.New(fault.NotFound, codeNotFound, "There is no problem of this name.")
	}
	var b bytes.Buffer
	err := pages.Execute(&b, struct {
		Title, Code, Remedy string
		Status              int
	}{m.title, code, m.remedy, m.status})
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "public, max-age=3600")
	c.Header("Content-Type", "text/html; charset=utf-8")
	c.Writer.WriteHeader(http.StatusOK)
	_, _ = c.Writer.Write(b.Bytes())
	return nil
}
