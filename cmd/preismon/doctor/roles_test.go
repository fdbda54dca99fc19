package doctor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestKeys: each node must accept what the others sign and seal; while a key is
// rotated, they may differ.
func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []Keys
		state State
		n     int // findings
		says  string
	}{
		"one":                  {[]Keys{{[]string{"a"}, []string{"x"}}}, OK, 1, "of 1 query nodes, the same"},
		"the same":             {[]Keys{{[]string{"a"}, []string{"x"}}, {[]string{"a"}, []string{"x"}}}, OK, 1, "the same on each"},
		"in a rotation":        {[]Keys{{[]string{"b", "a"}, []string{"x"}}, {[]string{"a", "b"}, []string{"x"}}}, OK, 1, "a rotation is under way"},
		"an old one is left":   {[]Keys{{[]string{"b", "a"}, []string{"x", "y"}}, {[]string{"b", "a"}, []string{"x", "y"}}}, OK, 1, "verified only: a, y. Drop"},
		"one was forgotten":    {[]Keys{{[]string{"b", "a"}, []string{"x"}}, {[]string{"a"}, []string{"x"}}}, Bad, 1, "http://1 refuses the tokens that http://0 gives: it knows no key b"},
		"other keys of tokens": {[]Keys{{[]string{"a"}, []string{"x"}}, {[]string{"b"}, []string{"x"}}}, Bad, 2, "no key "},
		"other cursors":        {[]Keys{{[]string{"a"}, []string{"x", "y"}}, {[]string{"a"}, []string{"y"}}}, Bad, 1, "refuses the cursors and logins of agents that http://0 gives: it knows no key x"},
	} {
		var nodes []role
		for i, k := range c.nodes {
			r := role{at: fmt.Sprint("http://", i)}
			r.About.Keys = &k
			nodes = append(nodes, r)
		}
		found := keys(nodes)
		if len(found) != c.n || found[0].State != c.state || !strings.Contains(found[0].Says, c.says) || (found[0].Fix == "") != (c.state == OK) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestRoles: what a process reports at its admin address, good and bad.
func TestRoles(t *testing.T) {
	type report struct {
		ready  bool
		checks map[string]string
		keys   *Keys
		open   string
	}
	serve := func(r report) string {
		mux := http.NewServeMux()
		mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
			if !r.ready {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			if err := json.NewEncoder(w).Encode(map[string]any{"ready": r.ready, "checks": r.checks, "about": map[string]any{"keys": r.keys}}); err != nil {
				t.Error(err)
			}
		})
		mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "# HELP process_open_fds of it\nprocess_open_fds %s\nprocess_max_fds 1000\n", r.open)
		})
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s.URL
	}
	mine := &Keys{Token: []string{"a"}, Cursor: []string{"x"}}
	for name, c := range map[string]struct {
		told report
		want map[string]State
	}{
		"well":           {report{true, map[string]string{"archive 1": "ok"}, mine, "10"}, map[string]State{"role": OK, "open files": OK, "archive 1": OK, "keys": OK}},
		"a projector":    {report{true, nil, nil, "10"}, map[string]State{"role": OK, "open files": OK}},
		"not ready":      {report{false, map[string]string{"clickhouse": "is away"}, mine, "10"}, map[string]State{"role": Bad, "open files": OK, "archive": Warning, "keys": OK}},
		"archive away":   {report{true, map[string]string{"archive 1": "ok", "archive 2": "no route"}, mine, "10"}, map[string]State{"role": OK, "open files": OK, "archive 1": OK, "archive 2": Bad, "keys": OK}},
		"many files":     {report{true, nil, nil, "700"}, map[string]State{"role": OK, "open files": Warning}},
		"too many files": {report{true, nil, nil, "9e2"}, map[string]State{"role": OK, "open files": Bad}},
	} {
		s := &Site{Admins: []string{serve(c.told) + "/"}, Flags: ofFolder}
		got := map[string]State{}
		for _, f := range s.roles(t.Context()) {
			got[f.Check] = f.State
			if f.State == Bad && f.Fix == "" {
				t.Errorf("%s: %+v has nothing that mends it", name, f)
			}
			if f.Check == "archive 2" && !strings.Contains(f.Fix, "preismon audit --archives --data-dir x") {
				t.Errorf("%+v", f)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	s := &Site{Nodes: []string{"http://127.0.0.1:1"}}
	if f := s.roles(t.Context()); len(f) != 1 || f[0].Check != "keys" || f[0].State != Unknown {
		t.Errorf("nodes of which no key is told: %+v", f)
	}
}
