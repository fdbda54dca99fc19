package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/auth"
)

// Codes that this package uses.
const (
	CodeSchemeNotAllowed = "AUTH_SCHEME_NOT_ALLOWED"
	CodePayloadTooLarge  = query.CodePayloadTooLarge
	CodeRange            = "RANGE_NOT_SATISFIABLE"
	CodePrecondition     = "PRECONDITION_FAILED"
	CodeRateLimit        = "RATE_LIMIT_EXCEEDED"
	CodeNotFound         = "NOT_FOUND"
	CodeMethodNotAllowed = "METHOD_NOT_ALLOWED"
	CodeInternal         = "INTERNAL_ERROR"
	CodeLogoutFailed     = "LOGOUT_REVOCATION_FAILED"
	CodeUnavailable      = "SERVICE_UNAVAILABLE"

	CodeCategoryNotAvailable = query.CodeCategoryNotAvailable // for an MCP tool; its page is here
)

// Meaning is what a code stands for, in an answer and on its page.
type Meaning struct {
	Status int
	Title  string
	Detail string // if the error has no message of its own
	Remedy string // on the page
}

// meanings is the one table from codes to statuses. A code that is not in it is
// treated by its kind.
var meanings = map[string]Meaning{
	query.CodeValidation: {
		http.StatusBadRequest, "Request not valid", "The request is not valid.",
		"Something in the request is missing, malformed, unknown or out of range. The detail names it. Fix it and send a new request; the same request would fail again.",
	},
	query.CodeScopeTooBroad: {
		http.StatusBadRequest, "Scope too broad", "The scope and the window of the read are too broad.",
		"Send a new request with a narrower scope (itemId, pzn, ean, asin with asinLocale, orderId, site), a narrower window, or both. A global read keeps both bounds, has no selectors and covers at most 168 hours. A cursor, another sort or the stream does not avoid this limit.",
	},
	query.CodeLatestPairTooBroad: {
		http.StatusBadRequest, "Too many pairs for latestPerPair", "latestPerPair covers too many item-site pairs.",
		"latestPerPair reads at most 1,000 item-site pairs. Narrow with itemId, orderId, site, pzn, ean or asin.",
	},
	query.CodeResponseTooLarge: {
		http.StatusBadRequest, "Response too large", "The response would be too large.",
		"A complete response, or one line of a stream, may have at most 64 MiB; it is never cut. Request fewer records with limit, or fewer field groups.",
	},
	CodeCategoryNotAvailable: {
		http.StatusBadRequest, "Category not available", "The category is not one that you can filter by.",
		"Call list_items with discoverCategories=true to see which categories your data has, or leave category out.",
	},
	query.CodeTokenInvalid: {
		http.StatusUnauthorized, "Access token not valid", "The access token is missing, expired, malformed or revoked.",
		"Get a new token from POST /v1/auth/token and send it as Authorization: Bearer <ACCESS_TOKEN>.",
	},
	auth.CodeCredentialsInvalid: {
		http.StatusUnauthorized, "Credentials not valid", "The login or the password is wrong.",
		"The login, the password or the account is not accepted. Administrative accounts are not supported. The answer is the same in each case.",
	},
	CodeSchemeNotAllowed: {
		http.StatusUnauthorized, "Authentication scheme not allowed", "Basic authentication is not accepted here. Get a token from POST /v1/auth/token and send it as Bearer.",
		"Domain endpoints take Authorization: Bearer <ACCESS_TOKEN> only. Get a token from POST /v1/auth/token.",
	},
	query.CodeForbidden: {
		http.StatusForbidden, "Not permitted", "This account may not read this.",
		"The token is valid, but its account has no permission for this area, or a file may hold more of its order than the account sees. A new token does not help; ask whoever manages the account.",
	},
	query.CodeItemTooBroad: {
		http.StatusBadRequest, "Too many candidates", "The search for items spans too many candidates.",
		"A search by identifiers inspects at most 10,000 candidates for a page, and at most 256 ASIN locale keys are listed. Narrow the identifier, lower limit, or continue from a later cursor, which has its own budget.",
	},
	query.CodeOrderCoverageTooBroad: {
		http.StatusBadRequest, "Orders span too much", "The orders span too many candidates.",
		"Monitoring covers at most 10,000 order-site pairs, coverage at most 10,000 active order-item references and 10,000 item-site candidates, over all orders of the page. Narrow with orderId or a lower limit, or omit the enrichment.",
	},
	query.CodeOrderNotFound: {
		http.StatusNotFound, "Order not found", "There is no such order that you may see.",
		"The order does not exist, or this account may not see it; the two look the same. Take the orderId from GET /v1/orders.",
	},
	CodeNotFound: {
		http.StatusNotFound, "Not found", "There is nothing at this path.",
		"The path is not one of the contract. See the machine-readable contract for those that are.",
	},
	CodeMethodNotAllowed: {
		http.StatusMethodNotAllowed, "Method not allowed", "This path does not take this method.",
		"The header Allow names the methods that the path takes.",
	},
	query.CodeOrderTooBroad: {
		http.StatusBadRequest, "Too many exports in the order", "The order has too many exports to find a complete page of the requested ones.",
		"One request examines at most 10,000 exports of an order, one after the other. Leave out exportName and follow the pages, or lower the limit.",
	},
	query.CodeHistoryTooBroad: {
		http.StatusBadRequest, "Too many archived files in the order", "The order has too many archive documents or archived files to search.",
		"The history of an order's exports, or of its imports, is searched as a whole: at most 1,000 archive documents with 10,000 files. Filters do not help. Ask whoever manages the order to have old files removed.",
	},
	query.CodeArtifactNotFound: {
		http.StatusNotFound, "Archived file not found", "No archived file of the order matches.",
		"Nothing in the history of the order matches the filters. List it with GET .../history and take the names from there.",
	},
	query.CodeFeedScopeChanged: {
		http.StatusGone, "What you see changed", "What this account sees, or what the selectors stand for, changed since the token was made, or old rows are no longer kept.",
		"Past rows were added or removed with it, and a feed cannot say which. Read a new snapshot from GET /v1/results/stream with Prefer: changes-token, replace your data, and continue from its token. For windows, send the request without since.",
	},
	query.CodeFeedHistoryRebuilt: {
		http.StatusGone, "History rebuilt", "The tables were rebuilt or restored since the token was made.",
		"Rows before the position of the token may have been added or removed. Read a new snapshot from GET /v1/results/stream with Prefer: changes-token, replace your data, and continue from its token. For windows, send the request without since.",
	},
	query.CodeFeedTokenExpired: {
		http.StatusGone, "Changes token expired", "The changes token is too old.",
		"A changes token is valid for 30 days, and each answer has a new one. Read a new snapshot from GET /v1/results/stream with Prefer: changes-token, and continue from its token. For windows, send the request without since.",
	},
	query.CodeContentMissing: {
		http.StatusConflict, "Content missing", "The file is in the catalogue, but its content is in none of the archives.",
		"The file was archived once, but no archive has its content any more. Another attempt does not help; another file of the history may.",
	},
	CodeRange: {
		http.StatusRequestedRangeNotSatisfiable, "Range not satisfiable", "The file has no such range of bytes.",
		"The header Content-Range of this answer says how many bytes the file has. Leave out the header Range to get all of them.",
	},
	CodePrecondition: {
		http.StatusPreconditionFailed, "Precondition failed", "The file is not the one that If-Match names.",
		"If-Match names an ETag that the file does not have: its content differs from what was read before. Leave out If-Match to get the file as it is.",
	},
	CodePayloadTooLarge: {
		http.StatusRequestEntityTooLarge, "Payload too large", "The payload is too large.",
		"actualBytes is the known size, or the size seen when reading stopped; maxBytes is what is permitted.",
	},
	CodeRateLimit: {
		http.StatusTooManyRequests, "Rate limit exceeded", "Too many requests.",
		"Wait as many seconds as Retry-After says. X-RateLimit-Limit, -Remaining and -Reset on every answer show the account's remaining quota.",
	},
	CodeInternal: {
		http.StatusInternalServerError, "Internal error", "Something went wrong on our side. The X-Request-Id of this answer helps to find it.",
		"The fault is ours. Try again later; if it persists, send us the X-Request-Id of the answer.",
	},
	CodeLogoutFailed: {
		http.StatusInternalServerError, "Revocation failed", "The token could not be revoked. It may stay valid until it expires.",
		"The revocation could not be written. The token may stay valid until it expires. Try the logout again.",
	},
	CodeUnavailable: {
		http.StatusServiceUnavailable, "Service unavailable", "The service is not available at the moment.",
		"Wait as many seconds as Retry-After says, then try again.",
	},
	query.CodeQueryTimeout: {
		http.StatusGatewayTimeout, "Query timeout", "The read did not finish within its time budget.",
		"Results: narrow the product, the site or the window, and send a new request. A list: try again later, or with a lower limit. One record, or a file: try again later.",
	},
}

// MeaningOf returns what a code of the contract stands for.
func MeaningOf(code string) (m Meaning, known bool) {
	m, known = meanings[code]
	return m, known
}

// Codes returns every code of the contract.
func Codes() []string { return slices.Sorted(maps.Keys(meanings)) }

// kindCodes are the codes for errors that have no code.
var kindCodes = map[fault.Kind]string{
	fault.Internal:        CodeInternal,
	fault.Invalid:         query.CodeValidation,
	fault.Unauthenticated: query.CodeTokenInvalid,
	fault.Forbidden:       query.CodeForbidden,
	fault.NotFound:        CodeNotFound,
	fault.Conflict:        CodeInternal,
	fault.TooLarge:        CodePayloadTooLarge,
	fault.RateLimited:     CodeRateLimit,
	fault.Timeout:         query.CodeQueryTimeout,
	fault.Unavailable:     CodeUnavailable,
	fault.Gone:            query.CodeFeedTokenExpired,
}

// Problem is an answer that describes a failure: the strict problem details of
// the contract (RFC 9457), and what goes into headers.
type Problem struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Status      int    `json:"status"`
	Detail      string `json:"detail"`
	Code        string `json:"code"`
	ActualBytes *int64 `json:"actualBytes,omitempty"`
	MaxBytes    *int64 `json:"maxBytes,omitempty"`

	RetryAfter time.Duration `json:"-"` // 0: not known
}

// ProblemOf turns an error into a problem. An internal error shows only its
// code.
func ProblemOf(err error, baseURL string) Problem {
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
	p := Problem{
		Type: baseURL + "/problems/" + PageName(code), Title: m.Title, Status: m.Status, Detail: m.Detail, Code: code, RetryAfter: e.RetryAfter,
	}
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

// Marshal writes JSON without a line end, and without the escapes that only
// JSON inside HTML needs.
func Marshal(v any) ([]byte, error) {
	if p, ok := v.(*query.Page[itemRecord]); ok {
		return marshalItems(p)
	}
	return marshalAny(v)
}

func marshalAny(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// PageName returns the last part of a problem's type.
func PageName(code string) string { return strings.ReplaceAll(strings.ToLower(code), "_", "-") }
