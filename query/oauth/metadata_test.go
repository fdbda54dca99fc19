package oauth_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query/oauth"
)

var update = flag.Bool("update", false, "write the golden files")

// The documents of RFC 9728 and RFC 8414, word for word.
func TestMetadata(t *testing.T) { // OAUTH-02, OPEN-14, checklist 11, 15, 17
	for _, base := range []string{"https://prices.example.test", "https://prices.example.test/api/v9"} {
		w := open(t, func(s *settings) { s.oauth.BaseURL = base })
		path := strings.TrimPrefix(base, "https://prices.example.test")
		for golden, places := range map[string][]string{
			"resource": {"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource" + path + "/mcp"},
			"server": {
				"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
				"/.well-known/oauth-authorization-server" + path, "/.well-known/openid-configuration" + path,
				"/.well-known/oauth-authorization-server/mcp", "/.well-known/oauth-authorization-server" + path + "/mcp",
			},
		} {
			for _, place := range places {
				r := w.browser().get(place)
				if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%s: %d %v", place, r.StatusCode, r.Header)
				}
				var pretty bytes.Buffer
				must.Do(t, json.Indent(&pretty, []byte(strings.ReplaceAll(r.body, base, "{base_url}")), "", "  "))
				pretty.WriteByte('\n')
				file := "testdata/" + golden + ".json"
				if *update {
					must.Do(t, os.WriteFile(file, pretty.Bytes(), 0o644))
				}
				want := must.Get(os.ReadFile(file))(t)
				if !bytes.Equal(want, pretty.Bytes()) {
					t.Errorf("%s: %s", place, pretty.String())
				}
				if !slices.Contains(w.oauth.Paths(), place) {
					t.Errorf("%s is not among the paths", place)
				}
			}
		}
	}
}

func TestConfig(t *testing.T) {
	err := oauth.Config{BaseURL: "http://prices.example.test/", Schemes: []string{"javascript"}}.Validate()
	for _, part := range []string{"base url", "key", "bucket", "replicas", "wait", "access lifetime", "refresh grace", "code lifetime", "page lifetime", "schemes"} {
		if part == "refresh grace" {
			continue // 0 counts as one
		}
		if err == nil || !strings.Contains(err.Error(), part+":") {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
	cfg := oauth.Defaults()
	cfg.BaseURL, cfg.Key = "http://localhost:8080", "0123456789abcdef0123456789abcdef"
	must.Do(t, cfg.Validate())
	if _, err := oauth.New(cfg, oauth.Deps{}); err == nil {
		t.Error("made without dependencies")
	}
}
