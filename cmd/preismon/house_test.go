package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

const module = "preismon"

// goPackage is what `go list` reports about a package, without its tests.
type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// arrows lists for each part of the tree, by the longest prefix, which of our
// packages it may import. A part may always import what is within it.
var arrows = map[string][]string{
	"contracts":             {},
	"contracts/fault":       {},
	"contracts/event":       {"contracts"},
	"contracts/openapi":     {"contracts"},
	"contracts/plaintext":   {},
	"ingest":                {"contracts"},
	"projector":             {"contracts"},
	"archive":               {"contracts"},
	"query/alert":           {"contracts"},
	"query":                 {"contracts", "query/admission", "query/alert", "query/cache", "query/frame"},
	"query/frame":           {},
	"query/admission":       {"contracts"},
	"query/store":           {"contracts", "query", "query/admission", "query/cache", "query/frame"},
	"query/auth":            {"contracts", "query", "query/cache"},
	"query/cache":           {},
	"query/wire":            {"contracts", "query", "query/alert", "query/auth", "query/frame"},
	"query/table":           {"contracts", "query/frame"},
	"query/table/objects":   {"query/frame", "query/table"},
	"query/table/tabletest": {"query", "query/frame"},
	"query/rest":            {"contracts", "query", "query/accept", "query/admission", "query/auth", "query/look", "query/wire", "query/frame", "query/table", "query/table/objects"},
	"query/mcp":             {"contracts", "query", "query/admission", "query/auth", "query/wire"},
	"query/oauth":           {"contracts", "query", "query/auth"},
	"query/oauth/page":      {"contracts", "query/look"},
	"query/explorer":        {"query/look"},
	"query/docs":            {"contracts", "query/look"},
	"query/accept":          {},
	"query/look":            {"query/accept"},
	"query/oauth/clientdoc": {"contracts"},
	"deploy/embedded":       {"contracts"},
	"deploy/testserver":     {"contracts", "deploy/embedded"},
	"deploy/compose":        {},
	"deploy/kubernetes":     {},
	"deploy/runbook":        {},
	"cmd/preismon/client":   {"contracts"},
	"cmd/preismon/notify":   {"contracts", "cmd/preismon/client"},
	"cmd/preismon/records":  {"contracts", "query/frame", "query/table", "query/table/objects"},
	"cmd/preismon/otlp":     {},
	"deploy/prometheus":     {}, // only tests
	"cmd":                   {"contracts", "ingest", "projector", "query", "archive", "deploy/embedded", "deploy/runbook"},

	"deploy/testserver/migrated": {"deploy/testserver", "projector"},
}

// homes lists where each library may be imported. deploy/testserver starts
// servers for tests and may use their clients. The API of OpenTelemetry is
// itself an abstraction that does nothing without the SDK behind it: packages
// that create spans import the API, and cmd alone the SDK.
var homes = map[string][]string{
	"github.com/gin-gonic/gin":                    {"query/rest"},
	"github.com/modelcontextprotocol/go-sdk":      {"query/mcp"},
	"github.com/nats-io/nats.go":                  {"ingest", "query/auth", "query/oauth", "cmd", "deploy/testserver"},
	"github.com/nats-io/nats-server":              {"deploy/embedded", "deploy/testserver"},
	"github.com/ClickHouse":                       {"projector", "query/store", "deploy/embedded", "deploy/testserver", "cmd/bench"},
	"github.com/minio/minio-go":                   {"archive", "deploy/testserver"},
	"github.com/golang-jwt/jwt":                   {"query/auth"},
	"code.dny.dev/ssrf":                           {"query/oauth/clientdoc", "cmd/preismon/notify"},
	"go.opentelemetry.io/otel":                    {"ingest", "projector", "query/store", "query/rest", "query/mcp", "cmd"},
	"go.opentelemetry.io/otel/sdk":                {"cmd"},
	"golang.org/x/text":                           {"query/oauth/page", "query/search", "query/look", "ingest/maps", "cmd/preismon"},
	"golang.org/x/text/encoding":                  {"ingest/maps", "query/mcp", "cmd/preismon"},
	"golang.org/x/text/transform":                 {"query/mcp", "query/search", "cmd/preismon"},
	"golang.org/x/text/unicode/norm":              {"ingest/maps", "projector", "query/wire", "query/auth", "query/search", "cmd/preismon"},
	"github.com/maypok86/otter":                   {"query/cache"},
	"github.com/alecthomas/kong":                  {"cmd"},
	"github.com/yuin/goldmark":                    {"query/docs"},
	"github.com/prometheus/client_golang":         {"cmd"},
	"github.com/ebitengine/purego":                {"deploy/embedded"},
	"github.com/testcontainers/testcontainers-go": {"deploy/testserver"},
	"github.com/apache/arrow-go":                  {"query/table"},
	"github.com/parquet-go/parquet-go":            {"query/table", "ingest/maps"},
	"github.com/xuri/excelize":                    {"ingest/maps"},
	"testing":                                     {"deploy/testserver"},
}

// TestImportArrows guards the tree: contracts import none of our packages;
// ingest, projector, query and archive import contracts and not each other; cmd
// joins them; each library has one home.
func TestImportArrows(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		part, allowed := longest(arrows, name)
		if part == "" {
			t.Errorf("%s: in no part of the tree; add it to the house or move it", name)
			continue
		}
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				to, _ := longest(arrows, ours)
				// An arrow to a part covers everything in it; only query's
				// subpackages are named one by one.
				if !within(ours, part) && !slices.ContainsFunc(allowed, func(a string) bool { return a == to || a != "query" && within(to, a) || part == "cmd" && within(to, a) }) {
					t.Errorf("%s imports %s: no arrow from %s to %s", name, ours, part, to)
				}
				continue
			}
			if library, where := longest(homes, imported); library != "" && !slices.ContainsFunc(where, func(h string) bool { return within(name, h) }) {
				t.Errorf("%s imports %s, whose home is %v", name, imported, where)
			}
			if part == "contracts" && strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				t.Errorf("%s imports %s: contracts know the standard library only", name, imported)
			}
		}
	}
}

// forTests are the packages that only tests may import.
var forTests = []string{"deploy/testserver", "contracts/openapi/openapitest", "query/table/tabletest", "testing"}

// TestNothingOfTestsIsInThePrograms: neither preismon nor its benchmark is
// linked with what is for tests.
func TestNothingOfTestsIsInThePrograms(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/preismon", "./cmd/bench")
	cmd.Dir = rootFolder
	out := must.Get(cmd.Output())(t)
	for name := range strings.FieldsSeq(string(out)) {
		name = strings.TrimPrefix(name, module+"/")
		if slices.ContainsFunc(forTests, func(part string) bool { return within(name, part) }) {
			t.Errorf("%s is in a program", name)
		}
	}
	for _, part := range forTests { // one that has moved would be missed
		if info, err := os.Stat(filepath.Join(rootFolder, part)); part != "testing" && (err != nil || !info.IsDir()) {
			t.Errorf("%s: no such package: %v", part, err)
		}
	}
}

func within(name, part string) bool { return name == part || strings.HasPrefix(name, part+"/") }

// longest finds the entry whose key is the longest prefix of the name.
func longest(of map[string][]string, name string) (key string, value []string) {
	for k, v := range of {
		if within(name, k) && len(k) > len(key) {
			key, value = k, v
		}
	}
	return key, value
}

// TestDecisionsAreShort: a decision states context, decision and consequences
// in at most 400 words.
func TestDecisionsAreShort(t *testing.T) {
	const most = 400
	files, err := filepath.Glob(filepath.Join(rootFolder, "contracts", "decisions", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		if n := len(strings.Fields(string(text))); n > most {
			t.Errorf("%s has %d words of %d", filepath.Base(f), n, most)
		}
		for _, part := range []string{"**Context.**", "**Decision", "**Consequences.**"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s does not say %s", filepath.Base(f), part)
			}
		}
	}
}
