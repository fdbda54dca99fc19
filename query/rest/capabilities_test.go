package rest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

type capabilities struct {
	CoreFields    []string
	IncludeGroups map[string][]string
	Filters       []struct {
		Parameter, Kind, Type, Requires string
		Values                          []string
	}
	Sort, Timezone map[string]any
	Window         struct {
		From, To                                          string
		Closed                                            bool
		ProductHistoryHours, DefaultHours, GlobalMaxHours int
	}
	Limits     map[string]float64
	ScopeGuard *struct {
		Enabled                       bool
		MaxScopePairs, MaxWindowHours *int
		Recovery                      []string
	}
}

// Reads of results do what their description says they can do (CAP-K1,
// CAP-00a).
func TestCapabilities(t *testing.T) {
	s := serve(t)
	a := s.get("/v1/results/capabilities", s.token(reader))
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	wantQuota(t, a)
	if limit := a.Header.Get("X-RateLimit-Limit"); limit != "600" { // OPEN-18, unless configured otherwise
		t.Errorf("%s requests a minute", limit)
	}
	c := decode[capabilities](t, a)

	bare := s.page("/v1/results", "itemId=11", "site=market-de").Data[0] // CAP-00b
	equals.Checkf(t, slices.Sorted(maps.Keys(bare)), slices.Sorted(slices.Values(c.CoreFields)), "core fields")
	operation := openapitest.Document().Paths.Value("/v1/results").Get
	groups := map[string]bool{}
	for parameter, fields := range c.IncludeGroups { // CAP-00c, RES-P13
		groups[parameter] = true
		row := s.page("/v1/results", "itemId=11", "site=market-de", parameter+"=true").Data[0]
		for field := range row {
			if !slices.Contains(c.CoreFields, field) && !slices.Contains(fields, field) {
				t.Errorf("%s adds %s, which is not said", parameter, field)
			}
		}
		for _, field := range fields {
			if field == "productRating" { // from another market than this one
				continue
			}
			if _, ok := row[field]; !ok {
				t.Errorf("%s does not add %s", parameter, field)
			}
		}
	}
	filters := map[string]bool{}
	for _, f := range c.Filters { // CAP-00d, OPEN-06
		filters[f.Parameter] = true
		p := operation.Parameters.GetByInAndName("query", f.Parameter)
		if p == nil || !p.Schema.Value.Type.Is(f.Type) {
			t.Errorf("%s is no %s of the contract", f.Parameter, f.Type)
			continue
		}
		var values []string
		for _, v := range p.Schema.Value.Enum {
			values = append(values, v.(string))
		}
		slices.Sort(values)
		equals.Checkf(t, values, f.Values, "%s", f.Parameter)
	}
	for _, p := range operation.Parameters {
		switch name := p.Value.Name; {
		case name == "limit", name == "cursor", name == "sort", name == "timezone":
		case strings.HasPrefix(name, "include"):
			if !groups[name] {
				t.Errorf("%s is not described", name)
			}
		case !filters[name]:
			t.Errorf("%s is not described", name)
		}
	}
	if filters["category"] {
		t.Error("category")
	}
	// CAP-00e
	equals.Check(t, map[string]any{"parameter": "sort", "field": "capturedAt", "values": []any{"asc", "desc"}, "default": "desc"}, c.Sort)
	equals.Check(t, map[string]any{"parameter": "timezone", "names": "IANA", "default": "UTC"}, c.Timezone)
	w := c.Window
	if w.From != "capturedFrom" || w.To != "capturedTo" || !w.Closed || w.ProductHistoryHours != 168 || w.GlobalMaxHours != 168 || w.DefaultHours != 24 {
		t.Errorf("%+v", w)
	}
	for args, hours := range map[string]int{"itemId=11": w.ProductHistoryHours, "site=shop-one": w.DefaultHours} {
		q := s.page("/v1/results", args).Query
		from := must.Get(time.Parse(time.RFC3339, q["capturedFrom"].(string)))(t)
		to := must.Get(time.Parse(time.RFC3339, q["capturedTo"].(string)))(t)
		if to.Sub(from) != time.Duration(hours)*time.Hour {
			t.Errorf("%s: a window of %s, not of %d hours", args, to.Sub(from), hours)
		}
	}
	want := map[string]float64{
		"limitDefault": 100, "limitMax": 10_000, "streamLimitDefault": 10_000, "latestPerPairMaxPairs": 1_000, "enrichmentMaxCandidates": 250_000,
		"responseMaxBytes": 64 << 20, "softDeadlineSeconds": 5, "hardBudgetSeconds": 20, "cursorDays": 30,
	}
	equals.Check(t, want, c.Limits)
	if p := s.page("/v1/results", ""); p.Paging.Limit != 100 {
		t.Errorf("default limit %d", p.Paging.Limit)
	}

	s.get("/v1/results/capabilities?limit=1", s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	s.get("/v1/results/capabilities", "").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.get("/v1/results/capabilities", s.token(narrow)).wantProblem(t, 403, "AUTH_FORBIDDEN")
}

// The guard is described as it is in force, always with the way to narrow
// (CAP-00f).
func TestCapabilitiesShowTheGuard(t *testing.T) {
	if !slices.Contains(openapitest.Document().Components.Schemas["ResultsCapabilities"].Value.Required, "scopeGuard") {
		t.Error("scopeGuard is not required")
	}
	for _, c := range []struct{ pairs, hours int }{{0, 0}, {500, 0}, {0, 48}, {500, 48}} {
		s := serve(t, func(set *settings) {
			set.query.ScanGuardMaxPairs, set.query.ScanGuardMaxHours = c.pairs, c.hours
			set.query.SoftDeadline, set.query.HardBudget = 1500*time.Millisecond, 7*time.Second
		})
		got := decode[capabilities](t, s.get("/v1/results/capabilities", s.token(reader)))
		g := got.ScopeGuard
		shown := func(p *int) int {
			if p == nil {
				return 0
			}
			return *p
		}
		if g == nil || g.Enabled != (c.pairs+c.hours > 0) || shown(g.MaxScopePairs) != c.pairs || shown(g.MaxWindowHours) != c.hours {
			t.Fatalf("%+v: %+v", c, g)
		}
		way := strings.Join(g.Recovery, " ")
		for _, words := range []string{"narrower scope", "capturedFrom", "globalScope", "168 hours", "cursor", "stream"} {
			if !strings.Contains(way, words) {
				t.Errorf("recovery does not speak of %q", words)
			}
		}
		if got.Limits["softDeadlineSeconds"] != 1.5 || got.Limits["hardBudgetSeconds"] != 7 {
			t.Errorf("%v", got.Limits)
		}
	}
}
