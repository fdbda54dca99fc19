// Package check holds exchanges of requests and answers against the public
// contract; it is for tests, and in no program. An exchange that follows the
// contract has a documented operation, or is refused as one that is not; its
// answer has a documented status, media type, headers and body, a stream line
// by line; and a request that the contract does not allow is refused.
package check

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/goccy/go-yaml"
	"github.com/klauspost/compress/zstd"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"preismon/contracts/openapi"
)

// Exchange is a request and its answer, both whole.
type Exchange struct {
	Method        string
	URL           *url.URL
	RequestHeader http.Header
	RequestBody   []byte
	Status        int
	Header        http.Header
	Trailer       http.Header
	// Body is the whole body as it was sent; only JSON is looked at. That of a
	// stream may be given to Lines instead, piece by piece.
	Body  []byte
	Lines *Lines
}

// Document is the contract, parsed.
var Document = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(openapi.YAML())
	if err != nil {
		panic(err)
	}
	return doc
})

// Headers that every answer has (HDR-02a to HDR-02e).
var everywhere = []string{"X-Request-Id", "Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"}

// Check tells in what the exchange breaks the contract; nil: in nothing.
func (x *Exchange) Check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, name := range everywhere {
		if len(x.Header.Values(name)) != 1 {
			add("header %s: %q", name, x.Header.Values(name))
		}
	}
	body, err := x.decoded()
	if err != nil {
		add("Content-Encoding: %w", err)
		return x.joined(faults)
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

// refused takes an exchange with something that is not in the document: only
// a problem may come of it, or the answer to a preflight.
func (x *Exchange) refused(body []byte) error {
	if x.Method == http.MethodOptions && x.Status == http.StatusNoContent && x.RequestHeader.Get("Access-Control-Request-Method") != "" {
		return nil
	}
	if x.Status < 400 {
		return errors.New("it is served, but in no document")
	}
	if x.Method == http.MethodHead {
		return nil
	}
	return Problem(body)
}

// Problem checks the strict problem object (ERR-F1 to ERR-F8).
func Problem(body []byte) error {
	return Value("Problem", body)
}

// Value checks one JSON value against a schema of the document.
func Value(schema string, body []byte) error {
	compiled, err := schemaOf(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%q: %w", body, err)
	}
	return compiled.Validate(value)
}

var (
	schemas  sync.Map // by name
	compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
		var doc any
		if err := yaml.Unmarshal(openapi.YAML(), &doc); err != nil {
			return nil, err
		}
		asJSON, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		return c, c.AddResource("openapi.json", parsed)
	})
	compiling sync.Mutex
)

// schemaOf compiles a schema; schemas of OpenAPI 3.1 are JSON Schema 2020-12.
// Streams have many lines, and this validator is the fast one.
func schemaOf(name string) (*jsonschema.Schema, error) {
	if s, ok := schemas.Load(name); ok {
		return s.(*jsonschema.Schema), nil
	}
	compiling.Lock()
	defer compiling.Unlock()
	c, err := compiler()
	if err != nil {
		return nil, err
	}
	s, err := c.Compile("openapi.json#/components/schemas/" + name)
	if err != nil {
		return nil, err
	}
	schemas.Store(name, s)
	return s, nil
}

// operationOf finds the operation of a request and the values in its path.
func operationOf(method, path string) (*routers.Route, map[string]string) {
	doc := Document()
	var route *routers.Route
	var values map[string]string
	for template, item := range doc.Paths.Map() {
		op := item.Operations()[method]
		found, ok := match(template, path)
		if op == nil || !ok || route != nil && len(found) >= len(values) { // the more exact path wins
			continue
		}
		route, values = &routers.Route{Spec: doc, Path: template, PathItem: item, Method: method, Operation: op}, found
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

// request checks that what the document does not allow was refused.
func (x *Exchange) request(route *routers.Route, pathParams map[string]string) (faults []error) {
	if x.Status >= 400 {
		return nil
	}
	if err := openapi3filter.ValidateRequest(context.Background(), x.input(route, pathParams)); err != nil {
		faults = append(faults, fmt.Errorf("the request is not allowed: %w", err))
	}
	if !strings.HasPrefix(route.Path, "/v1/") {
		return faults
	}
	values, err := url.ParseQuery(x.URL.RawQuery)
	if err != nil {
		faults = append(faults, fmt.Errorf("the query is malformed: %w", err))
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

const ndjson = "application/x-ndjson"

// sink gives what takes the body of an answer while it is sent: lines for a
// stream that is not compressed, the exchange for other JSON, nothing for
// bytes that the contract says nothing about.
func (x *Exchange) sink(kept *bytes.Buffer) io.Writer {
	media := x.Header.Get("Content-Type")
	switch {
	case media == ndjson && x.Header.Get("Content-Encoding") == "":
		x.Lines = &Lines{}
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
	case strings.HasSuffix(media, "json") && media != ndjson:
		out.SetBodyBytes(body)
	default:
		own.ExcludeResponseBody = true
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		faults = append(faults, err)
	}
	if media == ndjson && x.Status == http.StatusOK {
		faults = append(faults, x.stream(body)...)
	}
	return faults
}

// mediaType finds the media type of the answer in the document: exactly, or
// but for parameters that the document leaves open. Without content, or
// without such a status, there is nothing to find.
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

// stream checks each line of a stream, and the trailers that say it is whole.
func (x *Exchange) stream(body []byte) []error {
	l := x.Lines
	if l == nil {
		l = &Lines{}
		l.Write(body)
	}
	faults := l.faults
	if len(l.rest) > 0 {
		faults = append(faults, fmt.Errorf("the stream ends within a line: %q", l.rest))
	}
	if x.Trailer.Get("X-Results-Complete") != "true" || x.Trailer.Get("X-Results-Returned") != strconv.Itoa(l.n) {
		faults = append(faults, fmt.Errorf("%d lines, but trailers %v", l.n, x.Trailer))
	}
	return faults
}

// Lines checks the lines of a stream as they come; it keeps none of them.
type Lines struct {
	n      int
	rest   []byte
	faults []error
}

const mostFaults = 10 // of a stream; the others are alike

// Write takes the next piece of the stream, and never fails.
func (l *Lines) Write(piece []byte) (int, error) {
	for part := range bytes.Lines(piece) {
		line, ended := bytes.CutSuffix(part, []byte("\n"))
		if len(l.rest) > 0 || !ended {
			l.rest = append(l.rest, line...)
			line = l.rest
		}
		if !ended {
			break
		}
		l.n++
		if err := Value("Result", line); err != nil && len(l.faults) < mostFaults {
			l.faults = append(l.faults, fmt.Errorf("line %d: %w", l.n, err))
		}
		l.rest = l.rest[:0]
	}
	return len(piece), nil
}

// decoded undoes the compression of the body, where it was kept.
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
