package openapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// folder is the part of a Postman collection that these tests check.
type folder struct {
	Name    string
	Item    []folder
	Request *struct {
		Method string
		Auth   *struct{ Type string }
		Body   *struct{ Raw string }
		URL    struct {
			Raw   string
			Query []struct {
				Key      string
				Disabled bool
			}
		}
	}
	Event []struct {
		Listen string
		Script struct{ Exec []string }
	}
}

func (f folder) requests() (all []folder) {
	if f.Request != nil {
		all = append(all, f)
	}
	for _, i := range f.Item {
		all = append(all, i.requests()...)
	}
	return all
}

// The collection has a request for each read, after the login that saves its
// token, and none for MCP (PUB-05a, PUB-05b). A body is the documented example,
// with the variables of the collection.
func TestPostmanCollection(t *testing.T) {
	text := document(t, openapi.PostmanPath)
	var c struct {
		Info struct{ Name, Schema string }
		Auth struct {
			Type   string
			Bearer []struct{ Value string }
		}
		Variable []struct{ Key, Value string }
		folder
	}
	must.Do(t, json.Unmarshal(text, &c))
	if !strings.HasSuffix(c.Info.Schema, "/v2.1.0/collection.json") || c.Info.Name == "" || c.Auth.Type != "bearer" || c.Auth.Bearer[0].Value != "{{accessToken}}" {
		t.Errorf("%+v %+v", c.Info, c.Auth)
	}
	if c.Variable[0].Key != "baseUrl" || c.Variable[0].Value != base {
		t.Errorf("%+v", c.Variable)
	}
	var got []string
	bodies := map[string]string{}
	for _, r := range c.requests() {
		path, _, _ := strings.Cut(strings.TrimPrefix(r.Request.URL.Raw, "{{baseUrl}}"), "?")
		path = strings.ReplaceAll(strings.ReplaceAll(path, "{{", "{"), "}}", "}")
		if strings.Contains(path, "mcp") {
			t.Errorf("%s", path)
		}
		got = append(got, r.Request.Method+" "+path)
		if body := r.Request.Body; body != nil {
			var b bytes.Buffer
			must.Do(t, json.Compact(&b, []byte(body.Raw)))
			bodies[path] = b.String()
		}
		item := load(t).Paths.Value(path)
		if item == nil {
			item = loadExt(t).Paths.Value(path)
		}
		op := item.GetOperation(r.Request.Method)
		equals.Is(t, (op.Security != nil), r.Request.Auth != nil && r.Request.Auth.Type == "noauth", "%s: public", path)
		for _, q := range r.Request.URL.Query {
			if op.Parameters.GetByInAndName("query", q.Key) == nil {
				t.Errorf("%s has no %s", path, q.Key)
			}
		}
		if len(r.Request.URL.Query) < len(op.Parameters)-1 {
			t.Errorf("%s: parameters are missing", path)
		}
		if len(r.Event) != 1 || r.Event[0].Listen != "test" || !strings.Contains(strings.Join(r.Event[0].Script.Exec, "\n"), "status(200)") {
			t.Errorf("%s tests nothing", path)
		}
	}
	login := slices.Index(got, "POST /v1/auth/token")
	first := slices.IndexFunc(got, func(r string) bool { return strings.HasPrefix(r, "GET /v1/") })
	if login < 0 || login > first {
		t.Errorf("the login is at %d, the first read at %d", login, first)
	}
	if !strings.Contains(string(text), `pm.collectionVariables.set(\"accessToken\"`) {
		t.Error("the token is not kept")
	}
	var want []string
	for path, item := range load(t).Paths.Map() {
		if item.Get != nil && path != "/problems/{code}" { // a page for people
			want = append(want, "GET "+path)
		}
	}
	for path, item := range loadExt(t).Paths.Map() {
		if item.Get != nil {
			want = append(want, "GET "+path)
		}
	}
	want = append(want, "POST /v1/auth/token", "POST /ext/v1/lookup")
	slices.Sort(want)
	slices.Sort(got)
	equals.Check(t, want, got)
	if diff := cmp.Diff(map[string]string{
		"/v1/auth/token": `{"loginIdentifier":"{{loginIdentifier}}","password":"{{password}}"}`,
		"/ext/v1/lookup": `{"eans":["4006381333931"],"asins":[{"asin":"B000000001","asinLocale":"de"}],"itemIds":["{{itemId}}"]}`,
	}, bodies); diff != "" {
		t.Error(diff)
	}
	if n := slices.Index(got, http.MethodPost+" /v1/auth/logout"); n >= 0 {
		t.Error("it logs out")
	}
}
