package openapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// base is the base URL of the service in these tests.
const base = "https://prices.example.test/api"

// document returns a public document as served.
func document(t *testing.T, path string) []byte {
	t.Helper()
	all := must.Get(openapi.Documents(base))(t)
	for _, d := range all {
		if d.Path == path {
			return d.Body
		}
	}
	t.Fatalf("no document at %s", path)
	return nil
}

// load and loadExt return the documents of the two surfaces, which callers must
// not change.
func load(t *testing.T) *openapi3.T    { return loaded(t, openapi.YAMLPath) }
func loadExt(t *testing.T) *openapi3.T { return loaded(t, openapi.ExtYAMLPath) }

var surfaces = map[string]*openapi3.T{}

func loaded(t *testing.T, path string) *openapi3.T {
	t.Helper()
	if surfaces[path] == nil {
		doc := must.Get(openapi3.NewLoader().LoadFromData(document(t, path)))(t)
		surfaces[path] = doc
	}
	return surfaces[path]
}

func TestDocumentIsValid(t *testing.T) {
	doc := load(t)
	if err := doc.Validate(t.Context(), openapi3.EnableSchemaPatternValidation()); err != nil {
		t.Error(err)
	}
	if doc.Info.Version != openapi.Version() { // HLTH-02
		t.Errorf("info.version is %q, Version %q", doc.Info.Version, openapi.Version())
	}
}

// Every read lists how it may be refused (SITE-01, ERR-E1).
func TestReadsListRefusals(t *testing.T) {
	for path, item := range load(t).Paths.Map() {
		op := item.Operations()[http.MethodGet]
		if op == nil || op.Security != nil { // without a token: public
			continue
		}
		for _, status := range []int{200, 400, 401, 403, 429} {
			if op.Responses.Status(status) == nil {
				t.Errorf("GET %s does not list %d", path, status)
			}
		}
	}
}

// The problem object allows no other fields, and its schema states which are
// required (ERR-F1 to ERR-F5, ERR-F8).
func TestProblemIsStrict(t *testing.T) {
	schema := load(t).Components.Schemas["Problem"].Value
	equals.Is(t, "type title status detail code", strings.Join(schema.Required, " "), "required")
	if schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has {
		t.Error("further fields are allowed")
	}
	if len(schema.Properties) != 7 {
		t.Errorf("%d fields, want 7", len(schema.Properties))
	}
}

// GET /v1/items accepts exactly these, all as text (ITEM-00a); no results
// operation has category (RES-13).
func TestParameters(t *testing.T) {
	doc := load(t)
	var names []string
	for _, p := range doc.Paths.Value("/v1/items").Get.Parameters {
		names = append(names, p.Value.Name)
		if !p.Value.Schema.Value.Type.Is("string") {
			t.Errorf("%s is no string", p.Value.Name)
		}
	}
	equals.Is(t, "limit cursor itemId pzn ean asinLocale asin", strings.Join(names, " "), "/v1/items takes")
	for _, path := range []string{"/v1/results", "/v1/results/stream"} {
		if doc.Paths.Value(path).Get.Parameters.GetByInAndName("query", "category") != nil {
			t.Errorf("%s takes category", path)
		}
	}
}
