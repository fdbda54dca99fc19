package query_test

import (
	"slices"
	"strings"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestParametersAreThoseOfTheContract: the contract has the parameters of the
// table and no others, with their types and values, and its changelog names each
// filter.
func TestParametersAreThoseOfTheContract(t *testing.T) {
	changelog := documentOf(t, openapi.ChangelogPath)
	for _, operation := range []string{"listResults", "streamResults"} {
		published := must.Get(openapi.Parameters(operation))(t)
		if len(published) != len(query.ResultsParameters) {
			t.Errorf("%s has %d parameters, the table %d", operation, len(published), len(query.ResultsParameters))
		}
		for _, p := range published {
			of := query.ResultsParameter(p.Name)
			if of.Name == "" || p.Schema["type"] != of.Type() || p.About == "" {
				t.Errorf("%s: %+v in the contract, %s in the table", operation, p, of.Type())
			}
			var values []string
			if enum, ok := p.Schema["enum"].([]any); ok {
				for _, v := range enum {
					values = append(values, v.(string))
				}
			}
			equals.Checkf(t, slices.Sorted(slices.Values(of.Values)), slices.Sorted(slices.Values(values)), "%s: values of %s", operation, p.Name)
			if of.Kind == query.FilterParameter && !strings.Contains(changelog, "`"+p.Name+"`") {
				t.Errorf("the changelog does not name %s", p.Name)
			}
		}
	}
}

// TestParametersAreDescribed: each interface can say what a parameter means.
func TestParametersAreDescribed(t *testing.T) {
	for _, p := range query.ResultsParameters {
		switch {
		case p.Kind == query.PageParameter: // of all lists
		case p.Brief == "" || strings.HasSuffix(p.Brief, "."):
			t.Errorf("%s: %q for agents", p.Name, p.Brief)
		case p.Kind != query.IncludeParameter && !strings.HasSuffix(p.Help, "."):
			t.Errorf("%s: %q for people", p.Name, p.Help)
		}
	}
}

func documentOf(t *testing.T, path string) string {
	t.Helper()
	all := must.Get(openapi.Documents("https://prices.example.com"))(t)
	for _, d := range all {
		if d.Path == path {
			return string(d.Body)
		}
	}
	t.Fatalf("no %s", path)
	return ""
}
