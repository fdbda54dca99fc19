package openapi

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// pm returns an object of the Postman collection format, of its names and their
// values in turn. What is empty is left out.
func pm(namesAndValues ...any) (o yaml.MapSlice) {
	for pair := range slices.Chunk(namesAndValues, 2) {
		if v := reflect.ValueOf(pair[1]); !v.IsZero() {
			o = append(o, yaml.MapItem{Key: pair[0], Value: pair[1]})
		}
	}
	return o
}

// pmValue returns a name with its value, which may be empty.
func pmValue(name, value string, more ...any) yaml.MapSlice {
	return append(yaml.MapSlice{{Key: "key", Value: name}, {Key: "value", Value: value}}, pm(more...)...)
}

// pmSchema names the format; Postman knows it by this address.
const pmSchema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"

// credentials are the variables that the person running the collection sets.
var credentials = []string{"loginIdentifier", "password"}

// learnt are the variables that answers fill in for later requests, unless the
// person running the collection has set them.
var learnt = []string{"site", "itemId", "orderId", "exportName"}

// enabled are the query parameters that a request of the collection sends; the
// others are included switched off.
var enabled = map[string]map[string]string{
	"listSites":              {"limit": "10"},
	"listItems":              {"limit": "10"},
	"listOrders":             {"limit": "10"},
	"listObservationQuality": {"limit": "10"},
	"listExports":            {"limit": "10"},
	"listExportHistory":      {"limit": "10"},
	"downloadExport":         {"latest": "true"},
	"listImports":            {"limit": "10"},
	"listImportHistory":      {"limit": "10"},
	"downloadImport":         {"latest": "true"},
	"listResults":            {"limit": "10"},
	"streamResults":          {"itemId": "{{itemId}}"},
	"getStatistics":          {"limit": "10"},
	"listWindows":            {"itemId": "{{itemId}}", "capturedFrom": "2026-01-01"},
	"explainRead":            {"path": "/v1/results"},
	"listPositions":          {"limit": "10"},
	"listEvidence":           {"itemId": "{{itemId}}", "site": "{{site}}", "capturedAt": "2026-01-01T00:00:00Z"},
	"listAlerts":             {"rule": "OUT_OF_STOCK"},
	"listMovers":             {"itemId": "{{itemId}}", "since": "2026-01-01"},
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// postman writes the collection of all reads, and of the login before them.
func postman(c, ext *contract) (string, error) {
	info := pm(
		"name", c.root.get("info", "title").text()+": REST reads",
		"description", "Set loginIdentifier and password, then run the requests in their order: the login keeps its token, "+
			"and lists keep an id for the requests below them. Parameters that are off can be switched on.",
		"version", c.version(), "schema", pmSchema,
	)
	// A variable named like the placeholder would be replaced itself.
	variables := []any{pmValue("baseUrl", "{base_url}", "type", "string")}
	for _, v := range slices.Concat(credentials, []string{"accessToken"}, learnt) {
		variables = append(variables, pmValue(v, "", "type", "string"))
	}
	var folders []any
	for _, of := range []*contract{c, ext} {
		more, err := of.pmFolders()
		if err != nil {
			return "", err
		}
		folders = append(folders, more...)
	}
	auth := pm("type", "bearer", "bearer", []any{pmValue("token", "{{accessToken}}", "type", "string")})
	return encode(node{pm("info", info, "auth", auth, "variable", variables, "item", folders)})
}

// pmFolders returns the requests of a document, a folder for each tag.
func (c *contract) pmFolders() (all []any, err error) {
	var tags []string
	requests := map[string][]any{} // by tag
	for op := range c.operations() {
		read := op.method == "GET" || op.body().exists() && op.path != "/mcp" // or the login
		if !read || pathParameter.MatchString(op.path) && op.public() {
			continue
		}
		request, err := c.pmRequest(op)
		if err != nil {
			return nil, err
		}
		tag := op.get("tags").texts()[0]
		if requests[tag] == nil {
			tags = append(tags, tag)
		}
		requests[tag] = append(requests[tag], request)
	}
	for _, tag := range tags {
		all = append(all, pm("name", tag, "item", requests[tag]))
	}
	return all, nil
}

// body returns the documented example of the body of an operation.
func (o operation) body() node {
	return o.get("requestBody", "content", "application/json", "example")
}

func (c *contract) pmRequest(op operation) (yaml.MapSlice, error) {
	var auth, body yaml.MapSlice
	if op.public() {
		auth = pm("type", "noauth")
	}
	path := pathParameter.ReplaceAllString(op.path, "{{$1}}")
	raw, header := "{{baseUrl}}"+path, []any{}
	var sent []string
	var query []any
	for _, p := range c.parameters(op) {
		name := p.get("name").text()
		if p.get("in").text() != "query" {
			continue
		}
		value, on := enabled[op.get("operationId").text()][name]
		switch {
		case on:
			sent = append(sent, name+"="+value)
		case slices.Contains(learnt, name):
			value = "{{" + name + "}}"
		default:
			value = p.get("example").text()
		}
		query = append(query, pmValue(name, value, "description", p.get("description").text(), "disabled", !on))
	}
	if sent != nil {
		raw += "?" + strings.Join(sent, "&")
	}
	if example := op.body(); example.exists() {
		var filled yaml.MapSlice
		for name, value := range example.members() {
			switch one := strings.TrimSuffix(name, "s"); {
			case slices.Contains(credentials, name):
				value.value = "{{" + name + "}}"
			case slices.Contains(learnt, one):
				value.value = []any{"{{" + one + "}}"}
			}
			filled = append(filled, yaml.MapItem{Key: name, Value: value.value})
		}
		text, err := encode(node{filled})
		if err != nil {
			return nil, err
		}
		header = append(header, pmValue("Content-Type", "application/json"))
		body = pm("mode", "raw", "raw", strings.TrimSpace(text))
	}
	url := pm("raw", raw, "host", []any{"{{baseUrl}}"}, "path", strings.Split(path[1:], "/"), "query", query)
	test := pm("listen", "test", "script", pm("type", "text/javascript", "exec", c.pmTest(op)))
	return pm("name", op.get("summary").text(), "event", []any{test}, "request", pm(
		"method", op.method, "description", op.get("description").text(), "auth", auth, "header", header, "body", body, "url", url,
	)), nil
}

// pmTest returns the script that runs after an answer: it checks what every
// successful answer of the operation has, and keeps what later requests need.
func (c *contract) pmTest(op operation) []string {
	var media []string
	for m := range op.get("responses", "200", "content").members() {
		m, _, _ = strings.Cut(m, ";")
		media = append(media, m)
	}
	known, _ := json.Marshal(media) // texts always marshal
	tests := []string{
		`pm.test("status 200", () => pm.response.to.have.status(200));`,
		`pm.test("media type", () => pm.expect(` + string(known) + `).to.include((pm.response.headers.get("Content-Type") || "").split(";")[0]));`,
		`pm.test("request id", () => pm.response.to.have.header("X-Request-Id"));`,
	}
	if !op.public() {
		tests = append(tests, `pm.test("rate limit", () => pm.response.to.have.header("X-RateLimit-Remaining"));`)
	}
	notFound, _ := c.deref(op.get("responses", "404"))
	if strings.Contains(notFound.get("description").text(), "HISTORY_ARTIFACT_NOT_FOUND") {
		return slices.Concat(
			[]string{`// An order that has no such file yet is no fault.`},
			[]string{`if (pm.response.code !== 404 || pm.response.json().code !== "HISTORY_ARTIFACT_NOT_FOUND") {`}, indent(tests), []string{`}`})
	}
	switch {
	case op.path == "/v1/auth/token":
		return append(tests, `pm.collectionVariables.set("accessToken", pm.response.json().accessToken);`)
	case strings.HasPrefix(op.get("operationId").text(), "list"):
		names, _ := json.Marshal(learnt)
		return append(tests,
			`const first = pm.response.code === 200 ? pm.response.json().data[0] || {} : {};`,
			`for (const name of `+string(names)+`) {`,
			`  if (first[name] && !pm.variables.get(name)) {`,
			`    pm.collectionVariables.set(name, first[name]);`,
			`  }`,
			`}`)
	}
	return tests
}

func indent(lines []string) (all []string) {
	for _, l := range lines {
		all = append(all, "  "+l)
	}
	return all
}
