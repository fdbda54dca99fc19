package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// The document of /ext/v1 is complete and valid by itself, its JSON is equal,
// its version is the newest in its changelog, and everything under /ext/v1 is a
// read that lists how it may be refused.
func TestExtDocument(t *testing.T) {
	doc := loadExt(t)
	if err := doc.Validate(t.Context(), openapi3.EnableSchemaPatternValidation()); err != nil {
		t.Error(err)
	}
	changes := string(document(t, openapi.ExtChangelogPath))
	_, newest, _ := strings.Cut(changes, "\n## ")
	if !strings.HasPrefix(newest, doc.Info.Version+", ") {
		t.Errorf("the version is %s, the changelog begins with %.20q", doc.Info.Version, newest)
	}
	var fromYAML, fromJSON any
	must.Do(t, yaml.Unmarshal(document(t, openapi.ExtYAMLPath), &fromYAML))
	plain := must.Get(json.Marshal(fromYAML))(t)
	must.Do(t, json.Unmarshal(plain, &fromYAML))
	must.Do(t, json.Unmarshal(document(t, openapi.ExtJSONPath), &fromJSON))
	equals.Check(t, fromYAML, fromJSON)
	for path, item := range doc.Paths.Map() {
		if !strings.HasPrefix(path, "/ext/v1/") {
			continue
		}
		for method, op := range item.Operations() {
			if method != "GET" && (method != "POST" || op.RequestBody == nil) {
				t.Errorf("%s %s", method, path)
			}
			for _, status := range []int{200, 400, 401, 403, 413, 429, 500, 503, 504} {
				if op.Responses.Status(status) == nil {
					t.Errorf("%s %s does not list %d", method, path, status)
				}
			}
		}
	}
}

// What both documents have is the same in both: a parameter, a record or a code
// is declared once.
func TestExtSharesWhatItHasOfV1(t *testing.T) {
	base, ext := load(t), loadExt(t)
	same := 0
	for name, schema := range ext.Components.Schemas {
		if other := base.Components.Schemas[name]; other != nil {
			same++
			a, _ := json.Marshal(schema)
			b, _ := json.Marshal(other)
			equals.Checkf(t, string(b), string(a), "%s", name)
		}
	}
	for name, p := range ext.Components.Parameters {
		if other := base.Components.Parameters[name]; other != nil && other.Value.Name != p.Value.Name {
			t.Errorf("%s", name)
		}
	}
	if same < 5 {
		t.Errorf("only %d records are shared", same)
	}
	for path := range base.Paths.Map() {
		if ext.Paths.Value(path) != nil {
			t.Errorf("both have %s", path)
		}
	}
}
