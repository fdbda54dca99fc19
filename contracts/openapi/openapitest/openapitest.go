// Package openapitest verifies exchanges of requests and answers against the public
// contract. It is part of no program. An exchange follows
// the contract if it has a documented operation, or is refused as one that has
// none; if its answer has a documented status, media type, headers and body, for
// a stream line by line; and if a request that the contract does not allow is
// refused.
package openapitest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/klauspost/compress/zstd"

	"preismon/contracts/openapi"
)

// Exchange is a request and its answer, both complete.
type Exchange struct {
	Method        string
	URL           *url.URL
	RequestHeader http.Header
	RequestBody   []byte
	Status        int
	Header        http.Header
	Trailer       http.Header
	// Body is the complete body as it was sent; only JSON is checked. That of a
	// stream may be passed to Lines instead, piece by piece.
	Body  []byte
	Lines *Lines
}

// Document is the contract, parsed.
var Document = sync.OnceValue(func() *openapi3.T { return parsed(openapi.YAML(), nil) })

// Extension is the contract of /ext/v1, parsed.
var Extension = sync.OnceValue(func() *openapi3.T { return parsed(openapi.ExtYAML()) })

// Path returns what either document says about a path; nil: nothing.
func Path(template string) *openapi3.PathItem {
	if item := Document().Paths.Value(template); item != nil {
		return item
	}
	return Extension().Paths.Value(template)
}

// Paths returns all paths of both documents.
func Paths() map[string]*openapi3.PathItem {
	all := Document().Paths.Map()
	maps.Copy(all, Extension().Paths.Map())
	return all
}

func parsed(source []byte, err error) *openapi3.T {
	if err != nil {
		panic(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(source)
	if err != nil {
		panic(err)
	}
	return doc
}

// Headers that every answer has (HDR-02a to HDR-02e).
var everywhere = []string{"X-Request-Id", "Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"}

// Check returns the ways in which the exchange breaks the contract, nil if there
// are none.
func (x *Exchange) Check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, name := range everywhere {
		if len(x.Header.Values(name)) != 1 {
			add("header %s: %q", name, x.Header.Values(name))
		}
	}
	var body []byte
	if !x.bodiless() {
		decoded, err := x.decoded()
		if err != nil {
			add("Content-Encoding: %w", err)
			return x.joined(faults)
		}
		body = decoded
	}
	route, pathParams := operationOf(x.Method, x.URL.EscapedPath())
	switch {
	case route == nil:
		if err := x.refused(body); err != nil {
			faults = append(faults, err)
		}
	default:
		faults = append(faults, x.request(route, pathParams)...)
		faults = append(faults, x.answer(route, pathParams, body)...)
	}
	return x.joined(faults)
}

func (x *Exchange) joined(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s %s, answered with %d, breaks the contract: %w", x.Method, x.URL.RequestURI(), x.Status, errors.Join(faults...))
}

// refused checks an exchange that is in neither document: the answer must be a
// problem, or the answer to a preflight.
func (x *Exchange) refused(body []byte) error {
	if x.Method == http.MethodOptions && x.Status == http.StatusNoContent && x.RequestHeader.Get("Access-Control-Request-Method") != "" {
		return nil
	}
	if x.Status < 400 {
		return errors.New("it is served, but in no document")
	}
	if x.Method == http.MethodHead || x.pageOfNothing() {
		return nil
	}
	return Problem(body)
}

// pageOfNothing reports whether a browser got a page for a path with nothing
// behind it, which is allowed outside the paths of the API.
func (x *Exchange) pageOfNothing() bool {
	path := strings.TrimPrefix(x.URL.Path, "/ext")
	return x.Status == http.StatusNotFound && !strings.HasPrefix(path, "/v1") &&
		strings.Contains(x.RequestHeader.Get("Accept"), "text/html") && strings.HasPrefix(x.Header.Get("Content-Type"), "text/html")
}

// operationOf returns the operation of a request and the values in its path.
// HEAD has that of GET, except on the stream.
func operationOf(method, path string) (*routers.Route, map[string]string) {
	if method == http.MethodHead && path != streamPath {
		method = http.MethodGet
	}
	var route *routers.Route
	var values map[string]string
	for _, doc := range []*openapi3.T{Document(), Extension()} {
		for template, item := range doc.Paths.Map() {
			op := item.Operations()[method]
			found, ok := match(template, path)
			if op == nil || !ok || route != nil && len(found) >= len(values) { // the more exact path wins
				continue
			}
			route, values = &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: op}, found
		}
	}
	return route, values
}

func match(template, path string) (map[string]string, bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	values := map[string]string{}
	for i, part := range want {
		value, err := url.PathUnescape(got[i])
		name, isParameter := strings.CutPrefix(part, "{")
		switch {
		case err != nil:
			return nil, false
		case isParameter:
			values[strings.TrimSuffix(name, "}")] = value
		case part != value:
			return nil, false
		}
	}
	return values, true
}

var options = openapi3filter.Options{
	AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true,
}

func (x *Exchange) input(route *routers.Route, pathParams map[string]string) *openapi3filter.RequestValidationInput {
	r := &http.Request{
		Method: x.Method, URL: x.URL, Header: x.RequestHeader, Body: io.NopCloser(bytes.NewReader(x.RequestBody)), ContentLength: int64(len(x.RequestBody)),
	}
	return &openapi3filter.RequestValidationInput{Request: r, PathParams: pathParams, Route: route, Options: &options}
}

// anyName reports whether one of the parameters is an object whose fields are
// parameters under their own names.
func anyName(all openapi3.Parameters) bool {
	return slices.ContainsFunc(all, func(p *openapi3.ParameterRef) bool {
		return p.Value.In == openapi3.ParameterInQuery && p.Value.Schema != nil && p.Value.Schema.Value.Type.Is("object")
	})
}

// request checks that a request which the document does not allow was refused.
func (x *Exchange) request(route *routers.Route, pathParams map[string]string) (faults []error) {
	if x.Status >= 400 {
		return nil
	}
	if err := openapi3filter.ValidateRequest(context.Background(), x.input(route, pathParams)); err != nil {
		faults = append(faults, fmt.Errorf("the request is not allowed: %w", err))
	}
	if !strings.HasPrefix(strings.TrimPrefix(route.Path, "/ext"), "/v1/") {
		return faults
	}
	values, err := url.ParseQuery(x.URL.RawQuery)
	if err != nil {
		faults = append(faults, fmt.Errorf("the query is malformed: %w", err))
	}
	if anyName(route.Operation.Parameters) {
		return faults
	}
	for name, given := range values {
		if route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil || len(given) != 1 {
			faults = append(faults, fmt.Errorf("the parameter %q is unknown or repeated", name))
		}
	}
	if route.Operation.Security == nil && !strings.HasPrefix(strings.ToLower(x.RequestHeader.Get("Authorization")), "bearer ") {
		faults = append(faults, errors.New("the request has no token"))
	}
	return faults
}

// bodiless reports whether the answer has no body because of its method.
func (x *Exchange) bodiless() bool { return x.Method == http.MethodHead }

const (
	ndjson     = "application/x-ndjson"
	streamPath = "/v1/results/stream"
)

// sink returns the writer that receives the body of an answer while it is sent:
// lines for a stream that is not compressed, the exchange for other JSON, and
// io.Discard for bytes that the contract does not describe.
func (x *Exchange) sink(kept *bytes.Buffer) io.Writer {
	media := x.Header.Get("Content-Type")
	switch {
	case media == ndjson && x.Header.Get("Content-Encoding") == "":
		x.Lines = x.newLines()
		return x.Lines
	case strings.Contains(media, "json"):
		return kept
	}
	return io.Discard
}

// answer checks status, media type, headers and body.
func (x *Exchange) answer(route *routers.Route, pathParams map[string]string, body []byte) (faults []error) {
	headers := http.Header{}
	for name, values := range x.Header {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	own := options
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: x.input(route, pathParams), Status: x.Status, Header: headers, Options: &own,
	}
	media := x.mediaType(route)
	switch {
	case media == "":
		faults = append(faults, fmt.Errorf("Content-Type %q is not one of the document", x.Header.Get("Content-Type")))
		own.ExcludeResponseBody = true
	case strings.HasSuffix(media, "json") && media != ndjson && !x.bodiless():
		if name := recordOf(route, x.Status, media); name != "" {
			own.ExcludeResponseBody = true
			if err := Value(name, body); err != nil {
				faults = append(faults, fmt.Errorf("the body is no %s: %w", name, err))
			}
			break
		}
		out.SetBodyBytes(body)
	default:
		own.ExcludeResponseBody = true
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		faults = append(faults, err)
	}
	if x.Status == http.StatusOK && !x.bodiless() {
		faults = append(faults, x.results(route.Path, media, body)...)
	}
	return faults
}

// recordOf returns the name of the schema that the document gives for a body, ""
// if it has none with a name. ValidateResponse would compile it for each answer.
func recordOf(route *routers.Route, status int, media string) string {
	response := route.Operation.Responses.Status(status)
	if response == nil || response.Value.Content[media] == nil || response.Value.Content[media].Schema == nil {
		return ""
	}
	name, _ := strings.CutPrefix(response.Value.Content[media].Schema.Ref, "#/components/schemas/")
	return name
}

// mediaType finds the media type of the answer in the document: exactly, or
// apart from parameters that the document leaves open. If the document has no
// content, or no such status, it returns "none".
func (x *Exchange) mediaType(route *routers.Route) string {
	given := x.Header.Get("Content-Type")
	response := route.Operation.Responses.Status(x.Status)
	if response == nil || len(response.Value.Content) == 0 {
		return "none"
	}
	bare, _, _ := mime.ParseMediaType(given)
	for _, name := range []string{given, bare} {
		if _, ok := response.Value.Content[name]; ok {
			return name
		}
	}
	return ""
}

// decoded decompresses the body, if it was kept.
func (x *Exchange) decoded() ([]byte, error) {
	codings := x.Header.Values("Content-Encoding")
	if len(codings) > 0 && !slices.ContainsFunc(x.Header.Values("Vary"), func(v string) bool { return strings.Contains(v, "Accept-Encoding") }) {
		return nil, errors.New("without Vary: Accept-Encoding")
	}
	switch coding := strings.Join(codings, ","); {
	case coding == "", (coding == "gzip" || coding == "zstd") && !strings.Contains(x.Header.Get("Content-Type"), "json"):
		return x.Body, nil
	case coding == "gzip":
		r, err := gzip.NewReader(bytes.NewReader(x.Body))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case coding == "zstd":
		r, err := zstd.NewReader(bytes.NewReader(x.Body))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	return nil, fmt.Errorf("%q is not known", codings)
}
