package openapi_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/must"
)

// The reference has a part for each of the nine topics (GEN-01a).
func TestReferenceHasNineParts(t *testing.T) {
	text := string(document(t, openapi.LLMsFullPath))
	if !strings.HasPrefix(text, "# Read-Only Price and Availability Observation Service\n") {
		t.Error("it does not say what it is about")
	}
	last := 0
	for _, part := range []string{
		"1. What the service does", "2. Resources and fields", "3. States and transitions", "4. Endpoints", "5. Authentication",
		"6. Events", "7. Errors", "8. Limits", "9. Versioning",
	} {
		at := strings.Index(text, "\n## "+part+"\n")
		if at < last {
			t.Errorf("%q is missing or out of order", part)
		}
		last = max(last, at)
	}
	if strings.Count(text, "\n## ") != 9 {
		t.Error("there are other parts")
	}
	endpoints := text[strings.Index(text, "\n## 4."):strings.Index(text, "\n## 5.")]
	for _, surface := range []string{"\n### REST\n", "\n### MCP\n"} {
		if !strings.Contains(endpoints, surface) {
			t.Errorf("%q is missing", surface)
		}
	}
}

// The reference covers every operation, parameter, field, value, code and
// header of the contract, and names what MCP offers (GEN-10e).
func TestReferenceIsComplete(t *testing.T) {
	text := string(document(t, openapi.LLMsFullPath))
	has := func(words string) {
		t.Helper()
		if !strings.Contains(text, words) {
			t.Errorf("%q is missing", words)
		}
	}
	for _, doc := range []*openapi3.T{load(t), loadExt(t)} {
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				has("#### " + method + " " + path + "\n\n" + op.Summary)
				for _, p := range op.Parameters {
					has("\n| `" + p.Value.Name + "` | " + p.Value.In + " | ")
				}
			}
		}
		for name, schema := range doc.Components.Schemas {
			walk(schema, func(field string) { has("`" + field + "`") }, func(value string) { has("`" + value + "`") })
			if schema.Value.Properties != nil {
				has("#### " + name + "\n")
			}
		}
	}
	for name := range load(t).Components.Headers {
		switch name { // of HTTP itself
		case "Accept-Ranges", "Cache-Control", "WWW-Authenticate":
		default:
			has(name)
		}
	}
	for _, name := range strings.Fields(`
		list_sites list_items list_orders get_order_detail list_order_observation_quality list_results describe_results_contract
		get_market_price_position download_order_export_file download_order_import_file list_result_changes list_order_export_history
		list_order_import_history list_asin_locales
		analyze-buybox check-price-availability inspect-observation analyze-market-price-position review-observed-shops
		svc://reference/sites svc://reference/asin-locales svc://reference/results-contract svc://sites/{site} svc://orders/{orderId} svc://items/{itemId}
		RUST_API_RESULTS_SCAN_GUARD_MAX_SCOPE_PAIRS RUST_API_RESULTS_SCAN_GUARD_MAX_WINDOW_HOURS RUST_API_ARCHIVE_DOWNLOAD_MAX_BYTES`) {
		has("`" + name + "`")
	}
}

// walk visits the fields and the values of a schema.
func walk(ref *openapi3.SchemaRef, field, value func(string)) {
	if ref == nil || ref.Value == nil {
		return
	}
	for _, v := range ref.Value.Enum {
		if text, ok := v.(string); ok {
			value(text)
		}
	}
	for name, p := range ref.Value.Properties {
		if p.Ref == "" && p.Value.Properties != nil {
			walk(p, func(f string) { field(name + "." + f) }, value)
		}
		field(name)
	}
}

// No line of the documents for readers is empty of content: each heading has
// text below it, no template is left, and no table has a row without a name.
func TestReferenceIsWhole(t *testing.T) {
	text := string(document(t, openapi.LLMsFullPath))
	for _, wrong := range []string{"{{", "}}", "<no value>", "%!", "| `` |", "<nil>"} {
		if strings.Contains(text, wrong) {
			t.Errorf("%q is in it", wrong)
		}
	}
	if empty := regexp.MustCompile(`(?m)^#+ .*\n\n#{1,3} `).FindAllString(text, -1); len(empty) > 2 { // 4 and 5 begin with their surfaces
		t.Errorf("parts without text: %q", empty)
	}
}

// The first steps and the guidance for questions about a single time are in
// both texts for models, in order.
func TestGuidance(t *testing.T) {
	for _, path := range []string{openapi.LLMsPath, openapi.LLMsFullPath} {
		text := strings.Join(strings.Fields(string(document(t, path))), " ")
		text = strings.ReplaceAll(text, base, "")
		last := 0
		for _, step := range []struct{ rule, words string }{
			{"VIS-03", "A small or empty"},
			{"VIS-03", "does not prove that a product does not exist or is not monitored at all"},
			{"GEN-08a", "1. `GET /healthz`"},
			{"GEN-08b", "2. `POST /v1/auth/token`"},
			{"GEN-08c", "3. `GET /v1/sites`"},
			{"GEN-08d", "4. `GET /v1/results?limit=10`"},
			{"GEN-08d", "then narrow by product"},
			{"GEN-G1", "1. List the visible sites first."},
			{"GEN-G2", "2. Send one results read for each site, with a window of 24 hours"},
			{"GEN-G3", "3. When a read exceeds its budget, shrink the window in the order 24, 12, 6, 1 hour"},
			{"GEN-G3", "only after that read fewer sites"},
			{"GEN-G4", "4. Keep what succeeded for each site."},
			{"GEN-G4", "call the combined answer incomplete"},
			{"GEN-G5", "5. Keep three outcomes apart: a price; a product that is unavailable; no result for a product at a site that was asked for."},
		} {
			at := strings.Index(strings.ToLower(text), strings.ToLower(step.words))
			if at < last {
				t.Errorf("%s: %s: %q is missing or out of order", path, step.rule, step.words)
			}
			last = max(last, at)
		}
	}
}

// The texts that models read stay short: fewer words than when the tools
// returned less.
func TestTextsForModelsAreShort(t *testing.T) {
	source := must.Get(os.ReadFile("llms-full.md"))(t)
	for name, c := range map[string]struct {
		text []byte
		most int
	}{
		"llms.txt": {document(t, openapi.LLMsPath), 308}, "llms-full.md, without what is derived": {source, 2_133},
	} {
		if n := len(strings.Fields(string(c.text))); n >= c.most {
			t.Errorf("%s has %d words, less than %d", name, n, c.most)
		}
	}
}
