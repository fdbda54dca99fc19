package tools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestConformance: the list and the actual results must agree, in both
// directions.
func TestConformance(t *testing.T) {
	ended := map[bool]map[string][]conformanceCheck{}
	for _, answered := range []bool{true, false} {
		server := httptest.NewServer(pings(answered))
		defer server.Close()
		ended[answered] = Conformance{Of: "server", Args: []string{"--url", server.URL, "--scenario", "ping"}}.run(t)
	}
	for name, c := range map[string]struct {
		pings bool
		list  string
		want  []string // a part of each error
	}{
		"passes":                {true, "# a comment\nping\n", nil},
		"fails":                 {false, "ping\n", []string{"ping: ping is FAILURE"}},
		"fails for a reason":    {false, "ping: it cannot\n", nil},
		"fails for one reason":  {false, "ping\nping ping: it cannot\n", nil},
		"fails for another one": {false, "ping\nping other: it cannot\n", []string{"ping: ping is FAILURE", "ping other: passes"}},
		"passes, with a reason": {true, "ping: it cannot\n", []string{"ping : passes"}},
		"is not in the list":    {true, "", []string{"does not list ping"}},
		"has not run":           {true, "ping\npong\n", []string{"pong has not run"}},
		"is in the list twice":  {false, "ping: it cannot\nping: it can\n", []string{"twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list.txt")
			must.Do(t, os.WriteFile(list, []byte(c.list), 0o600))
			r := &recorder{TB: t}
			Conformance{List: list}.judge(r, ended[c.pings])
			if !slices.EqualFunc(r.errors, c.want, strings.Contains) {
				t.Errorf("%q, want %q", r.errors, c.want)
			}
		})
	}
}

// recorder records errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// pings is a minimal MCP server for the scenario.
func pings(answered bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer := `"error":{"code":-32601,"message":"no"}`
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"test","version":"1"}}`
		case answered:
			answer = `"result":{}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	}
}
