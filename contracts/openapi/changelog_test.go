package openapi_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/must"
)

// entry is one version of the changelog.
type entry struct{ version, class, text string }

var heading = regexp.MustCompile(`^## ([0-9.]+), (additive|breaking)$`)

// entries reads the changelog; the text before the first version is the rules.
func entries(t *testing.T) (rules string, all []entry) {
	t.Helper()
	for line := range strings.Lines(string(document(t, openapi.ChangelogPath))) {
		line = strings.TrimRight(line, "\n")
		switch m := heading.FindStringSubmatch(line); {
		case m != nil:
			all = append(all, entry{version: m[1], class: m[2]})
		case strings.HasPrefix(line, "## "):
			t.Errorf("%q names no version and class", line) // VER-04b
		case len(all) == 0:
			rules += strings.TrimSpace(line) + " "
		default:
			all[len(all)-1].text += strings.TrimSpace(line) + " "
		}
	}
	return rules, all
}

// hundredths returns a version in hundredths.
func hundredths(t *testing.T, version string) int {
	t.Helper()
	f := must.Get(strconv.ParseFloat(version, 64))(t)
	return int(f*100 + 0.5)
}

func TestChangelogVersions(t *testing.T) {
	_, all := entries(t)
	var versions []string
	for _, e := range all {
		versions = append(versions, e.version)
		if (e.class == "breaking") != (e.version == "0.95") { // VER-02c
			t.Errorf("%s is called %s", e.version, e.class)
		}
	}
	slices.Reverse(versions)
	want := strings.Fields("0.5 0.6 0.7 0.8 0.9 0.91 0.92 0.93 0.94 0.95 0.96 0.97 0.98 0.99 1.00") // VER-06
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Fatal(diff)
	}
	if newest := versions[len(versions)-1]; newest != openapi.Version() || newest != load(t).Info.Version { // VER-04b
		t.Errorf("the newest entry is %s, the contract %s", newest, openapi.Version())
	}
	for i := 1; i < len(versions); i++ { // VER-02a
		from, to := hundredths(t, versions[i-1]), hundredths(t, versions[i])
		if step := to - from; from >= 90 && step != 1 || from < 90 && step != 10 {
			t.Errorf("from %s to %s", versions[i-1], versions[i])
		}
	}
}

func TestChangelogStatesItsRules(t *testing.T) {
	rules, _ := entries(t)
	for rule, words := range map[string][]string{
		"VER-02a": {"exactly 0.01"},
		"VER-02b": {"additive", "goes on working"},
		"VER-02c": {"breaking"},
		"VER-02d": {"Other words or another example do not move the version"},
		"VER-03":  {"repair", "may keep the version"},
	} {
		for _, w := range words {
			if !strings.Contains(rules, w) {
				t.Errorf("%s: %q is missing in %s", rule, w, rules)
			}
		}
	}
}

// Each entry names its change, and what it added to REST is still there.
func TestChangelogEntriesAreTrue(t *testing.T) {
	_, all := entries(t)
	texts := map[string]string{}
	for _, e := range all {
		texts[e.version] = e.text
	}
	doc := load(t)
	field := func(schema, name string) bool { return doc.Components.Schemas[schema].Value.Properties[name] != nil }
	parameter := func(path, name string) bool {
		return doc.Paths.Value(path).Get.Parameters.GetByInAndName("query", name) != nil
	}
	both := func(name string) bool { return parameter("/v1/results", name) && parameter("/v1/results/stream", name) }
	code := func(name string) bool {
		return slices.Contains(doc.Components.Schemas["ErrorCode"].Value.Enum, any(name))
	}
	reference := string(document(t, openapi.LLMsFullPath))
	for _, c := range []struct {
		version string
		words   []string
		holds   bool
	}{
		{"0.5", []string{"token", "logout", "`limit`", "`cursor`", "`paging.nextCursor`", "visibility", "error object", "rate limit"}, // VER-H0.5
			doc.Paths.Value("/v1/auth/token").Post != nil && doc.Paths.Value("/v1/auth/logout").Post != nil && field("Paging", "nextCursor") && both("cursor") && both("limit")},
		{"0.6", []string{"REST and MCP", "transport", "OAuth"}, // VER-H0.6
			strings.Contains(reference, "### REST") && strings.Contains(reference, "Streamable HTTP") && strings.Contains(reference, "PKCE")},
		{"0.7", []string{"`list_results`", "`readOnlyHint: true`"}, // VER-H0.7
			strings.Contains(reference, "| `list_results` |") && strings.Contains(reference, "`readOnlyHint: true`")},
		{"0.8", []string{"`GET /healthz`", "`contractVersion`", "`build`", "changelog", "collection"}, // VER-H0.8
			field("Health", "contractVersion") && field("Health", "build") && doc.Paths.Value(openapi.ChangelogPath) != nil && doc.Paths.Value(openapi.PostmanPath) != nil},
		{"0.9", []string{"`/llms.txt`", "`/llms-full.txt`"}, // VER-H0.9
			doc.Paths.Value("/llms.txt") != nil && doc.Paths.Value("/llms-full.txt") != nil},
		{"0.91", []string{"annotations", "`outputSchema`", "14 tools"}, // VER-H0.91
			strings.Contains(reference, "`outputSchema` and the annotations") && strings.Count(reference[strings.Index(reference, "| Tool |"):strings.Index(reference, "Prompts: ")], "\n| `") == 14},
		{"0.92", []string{"`qualitySummary`", "observation-quality", "`ACCESS_TEMPORARILY_RESTRICTED`", "`analyze-buybox`"}, // VER-H0.92
			strings.Contains(reference, "`analyze-buybox`") && field("OrderDetail", "qualitySummary") && doc.Paths.Value("/v1/orders/{orderId}/observation-quality") != nil &&
				slices.Contains(doc.Components.Schemas["OrderObservationReasonCode"].Value.Enum, any("ACCESS_TEMPORARILY_RESTRICTED"))},
		{"0.93", []string{"`isPrime`"}, field("Result", "isPrime")}, // VER-H0.93
		{"0.94", []string{"`brand`", "`manufacturer`", "`merchant`", "`isPrime`", "`isBuyBox`", "`latestObservationPerPair`"}, // VER-H0.94
			both("brand") && both("manufacturer") && both("merchant") && both("isPrime") && both("isBuyBox") && both("latestObservationPerPair")},
		{"0.95", []string{"`category`"}, !parameter("/v1/results", "category") && !parameter("/v1/results/stream", "category")}, // VER-H0.95
		{"0.96", []string{"`productRating`"}, field("Result", "productRating")},                                                 // VER-H0.96
		{"0.97", []string{"media types", "64 MiB", "32 MiB"}, // VER-H0.97
			len(doc.Paths.Value("/v1/orders/{orderId}/exports/history/download").Get.Responses.Status(200).Value.Content) == 4 && strings.Contains(doc.Info.Description, "64 MiB")},
		{"0.98", []string{"`globalScope`", "`query.scope`", "`X-Results-Scope`", "`504 RESULTS_QUERY_TIMEOUT`", "soft deadline"}, // VER-H0.98
			both("globalScope") && code("RESULTS_QUERY_TIMEOUT") && doc.Paths.Value("/v1/results/stream").Get.Responses.Status(200).Value.Headers["X-Results-Scope"] != nil},
		{"0.99", []string{"strict", "`HISTORY_SCOPE_TOO_BROAD`", "archive limit", "`actualBytes`", "`maxBytes`", "`RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD`", "recover", "`category`"}, // VER-H0.99
			code("HISTORY_SCOPE_TOO_BROAD") && code("HISTORY_ARTIFACT_NOT_FOUND") && code("RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD") && field("Problem", "actualBytes") && field("ResultsCapabilities", "scopeGuard")},
		{"1.00", []string{"`customerReferencePrices`", "`referencePrice`", "`referencePriceMoney`", "customer-specific"}, // VER-H1.00
			field("Result", "customerReferencePrices") && field("Result", "referencePrice") && field("Result", "referencePriceMoney")},
	} {
		for _, w := range c.words {
			if !strings.Contains(strings.ToLower(texts[c.version]), strings.ToLower(w)) {
				t.Errorf("%s does not name %s: %s", c.version, w, texts[c.version])
			}
		}
		if !c.holds {
			t.Errorf("%s: what it names is not in the contract", c.version)
		}
	}
}
