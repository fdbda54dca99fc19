package openapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// The JSON form is equal to the YAML (PUB-03).
func TestJSONEqualsYAML(t *testing.T) {
	var fromYAML any
	must.Do(t, yaml.Unmarshal(document(t, openapi.YAMLPath), &fromYAML))
	want := must.Get(json.Marshal(fromYAML))(t)
	var a, b any
	must.Do(t, json.Unmarshal(want, &a))
	must.Do(t, json.Unmarshal(document(t, openapi.JSONPath), &b))
	equals.Check(t, a, b)
	if v := a.(map[string]any)["info"].(map[string]any)["version"]; v != openapi.Version() { // VER-01a: a string
		t.Errorf("info.version is %v", v)
	}
}

var hosts = regexp.MustCompile(`[a-z]+://[^/\s"'` + "`" + `)>]*`)

// The contract names no host except the service's configured base URL; with
// another base URL, all documents use that one (GEN-01b).
func TestDocumentsNameNoHost(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:18080", "https://prices.example.test/api"} {
		all := must.Get(openapi.Documents(base))(t)
		for _, d := range all {
			if bytes.Contains(d.Body, []byte("{base_url}")) {
				t.Errorf("%s still has {base_url}", d.Path)
			}
			if !bytes.Contains(d.Body, []byte(base)) && d.Path != openapi.ChangelogPath && d.Path != openapi.ExtChangelogPath { // these have no address
				t.Errorf("%s does not name %s", d.Path, base)
			}
			// All that remains are the names of MCP resources and the name of
			// the collection's format.
			for _, found := range hosts.FindAllString(strings.ReplaceAll(string(d.Body), base, ""), -1) {
				if !strings.HasPrefix(found, "svc://") && found != "https://schema.getpostman.com" {
					t.Errorf("%s names %s", d.Path, found)
				}
			}
		}
	}
	servers := load(t).Servers // GEN-11
	if len(servers) != 1 || servers[0].URL != base {
		t.Errorf("%+v", servers)
	}
	for path := range load(t).Paths.Map() {
		if !strings.HasPrefix(path, "/") {
			t.Errorf("%s is not relative to the base", path)
		}
	}
}

// All operations are reads, except login and logout (GEN-07a).
func TestContractIsReadOnly(t *testing.T) {
	var writes []string
	for path, item := range load(t).Paths.Map() {
		for method := range item.Operations() {
			if method != http.MethodGet {
				writes = append(writes, method+" "+path)
			}
		}
	}
	slices.Sort(writes)
	equals.Check(t, []string{"POST /mcp", "POST /v1/auth/logout", "POST /v1/auth/token"}, writes)
}

// Each problem in the document can really occur there: its example follows its
// own schema, and the list of codes describes each code.
func TestCodesAreDescribed(t *testing.T) {
	doc := load(t)
	codes := doc.Components.Schemas["ErrorCode"].Value
	for _, c := range codes.Enum {
		if !strings.Contains(codes.Description, "- `"+c.(string)+"` (") {
			t.Errorf("%s is not described", c)
		}
	}
	for name, r := range doc.Components.Responses {
		for media, content := range r.Value.Content {
			if media != "application/problem+json" {
				continue
			}
			example, _ := content.Example.(map[string]any)
			if example == nil {
				t.Errorf("%s has no example", name)
				continue
			}
			equals.NoError(t, content.Schema.Value.VisitJSON(asJSON(t, example)), "%s", name)
			kebab := strings.ReplaceAll(strings.ToLower(example["code"].(string)), "_", "-")
			if example["type"] != base+"/problems/"+kebab {
				t.Errorf("%s: type %v for code %v", name, example["type"], example["code"])
			}
		}
	}
}

func asJSON(t *testing.T, v any) (plain any) {
	t.Helper()
	b := must.Get(json.Marshal(v))(t)
	must.Do(t, json.Unmarshal(b, &plain))
	return plain
}
