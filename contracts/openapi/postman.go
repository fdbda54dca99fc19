package openapi

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// The parts of the Postman collection format v2.1.0 that are used here.
type (
	pmCollection struct {
		Info     pmInfo    `json:"info"`
		Auth     *pmAuth   `json:"auth"`
		Variable []pmValue `json:"variable"`
		Item     []*pmItem `json:"item"`
	}
	pmInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Version     string `json:"version"`
		Schema      string `json:"schema"`
	}
	pmItem struct { // a folder has items, a request has a request
		Name    string     `json:"name"`
		Item    []*pmItem  `json:"item,omitempty"`
		Event   []pmEvent  `json:"event,omitempty"`
		Request *pmRequest `json:"request,omitempty"`
	}
	pmRequest struct {
		Method      string    `json:"method"`
		Description string    `json:"description,omitempty"`
		Auth        *pmAuth   `json:"auth,omitempty"`
		Header      []pmValue `json:"header"`
		Body        *pmBody   `json:"body,omitempty"`
		URL         pmURL     `json:"url"`
	}
	pmURL struct {
		Raw   string    `json:"raw"`
		Host  []string  `json:"host"`
		Path  []string  `json:"path"`
		Query []pmValue `json:"query,omitempty"`
	}
	pmValue struct {
		Key         string `json:"key"`
		Value       string `json:"value"`
		Type        string `json:"type,omitempty"`
		Description string `json:"description,omitempty"`
		Disabled    bool   `json:"disabled,omitempty"`
	}
	pmBody struct {
		Mode string `json:"mode"`
		Raw  string `json:"raw"`
	}
	pmAuth struct {
		Type   string    `json:"type"`
		Bearer []pmValue `json:"bearer,omitempty"`
	}
	pmEvent struct {
		Listen string   `json:"listen"`
		Script pmScript `json:"script"`
	}
	pmScript struct {
		Type string   `json:"type"`
		Exec []string `json:"exec"`
	}
)

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
	collection := pmCollection{
		Info: pmInfo{
			Name: c.root.get("info", "title").text() + ": REST reads", Version: c.version(), Schema: pmSchema,
			Description: "Set loginIdentifier and password, then run the requests in their order: the login keeps its token, " +
				"and lists keep an id for the requests below them. Parameters that are off can be switched on.",
		},
		Auth: &pmAuth{Type: "bearer", Bearer: []pmValue{{Key: "token", Value: "{{accessToken}}", Type: "string"}}},
	}
	// A variable named like the placeholder would be replaced itself.
	for _, v := range slices.Concat([]string{"baseUrl"}, credentials, []string{"accessToken"}, learnt) {
		value := pmValue{Key: v, Type: "string"}
		if v == "baseUrl" {
			value.Value = "{base_url}"
		}
		collection.Variable = append(collection.Variable, value)
	}
	for _, of := range []*contract{c, ext} {
		if err := of.pmFolders(&collection); err != nil {
			return "", err
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(collection)
	return b.String(), err
}

// pmFolders adds the requests of a document, a folder for each tag.
func (c *contract) pmFolders(collection *pmCollection) error {
	folders := map[string]*pmItem{}
	for op := range c.operations() {
		read := op.method == "GET" || op.body().exists() && op.path != "/mcp" // or the login
		if !read || pathParameter.MatchString(op.path) && op.public() {
			continue
		}
		tag := op.get("tags").texts()[0]
		if folders[tag] == nil {
			folders[tag] = &pmItem{Name: tag}
			collection.Item = append(collection.Item, folders[tag])
		}
		item, err := c.pmRequest(op)
		if err != nil {
			return err
		}
		folders[tag].Item = append(folders[tag].Item, item)
	}
	return nil
}

// body returns the documented example of the body of an operation.
func (o operation) body() node {
	return o.get("requestBody", "content", "application/json", "example")
}

func (c *contract) pmRequest(op operation) (*pmItem, error) {
	r := &pmRequest{Method: op.method, Description: op.get("description").text(), Header: []pmValue{}}
	if op.public() {
		r.Auth = &pmAuth{Type: "noauth"}
	}
	path := pathParameter.ReplaceAllString(op.path, "{{$1}}")
	r.URL = pmURL{Raw: "{{baseUrl}}" + path, Host: []string{"{{baseUrl}}"}, Path: strings.Split(path[1:], "/")}
	var sent []string
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
		r.URL.Query = append(r.URL.Query, pmValue{Key: name, Value: value, Description: p.get("description").text(), Disabled: !on})
	}
	if sent != nil {
		r.URL.Raw += "?" + strings.Join(sent, "&")
	}
	if example := op.body(); example.exists() {
		var body yaml.MapSlice
		for name, value := range example.members() {
			switch one := strings.TrimSuffix(name, "s"); {
			case slices.Contains(credentials, name):
				value.value = "{{" + name + "}}"
			case slices.Contains(learnt, one):
				value.value = []any{"{{" + one + "}}"}
			}
			body = append(body, yaml.MapItem{Key: name, Value: value.value})
		}
		text, err := encode(node{body})
		if err != nil {
			return nil, err
		}
		r.Header = append(r.Header, pmValue{Key: "Content-Type", Value: "application/json"})
		r.Body = &pmBody{Mode: "raw", Raw: strings.TrimSpace(text)}
	}
	test := pmEvent{Listen: "test", Script: pmScript{Type: "text/javascript", Exec: c.pmTest(op)}}
	return &pmItem{Name: op.get("summary").text(), Event: []pmEvent{test}, Request: r}, nil
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
