package openapi_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
)

// Each part is an OpenAPI document by itself, smaller than the whole, and has
// the operations for its use exactly as in the whole.
func TestParts(t *testing.T) {
	whole, size := load(t), len(document(t, openapi.YAMLPath))
	for name, paths := range map[string][]string{
		"reads.yaml":  {"/healthz", "/v1/auth/token", "/v1/sites", "/v1/items", "/v1/orders/{orderId}", "/v1/results", "/v1/results/stream"},
		"files.yaml":  {"/v1/auth/token", "/v1/orders", "/v1/orders/{orderId}/exports/history/download", "/v1/orders/{orderId}/imports"},
		"agents.yaml": {"/mcp"},
	} {
		body := document(t, "/openapi/"+name)
		doc, err := openapi3.NewLoader().LoadFromData(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equals.NoError(t, doc.Validate(t.Context(), openapi3.EnableSchemaPatternValidation()), "%s", name)
		if len(body) > size*9/10 {
			t.Errorf("%s has %d of %d bytes", name, len(body), size)
		}
		for _, path := range paths {
			if doc.Paths.Value(path) == nil {
				t.Errorf("%s does not have %s", name, path)
			}
		}
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				same := whole.Paths.Value(path).GetOperation(method)
				equals.Checkf(t, asJSON(t, same), asJSON(t, op), "%s: %s %s differs from the whole", name, method, path)
			}
		}
	}
}
