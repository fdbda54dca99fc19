package docs_test

import (
	"net/http/httptest"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/chromium"
	"preismon/deploy/testserver/must"
	"preismon/query/docs"
)

// A real browser shows the page, light and dark, on a phone and on a desktop:
// axe finds nothing, the policy blocks nothing, no other host is requested,
// every address shows what it names, and the keyboard is enough.
func TestInBrowser(t *testing.T) {
	reference := must.Get(docs.New("http://127.0.0.1:8080", alerts))(t)
	server := httptest.NewServer(reference)
	defer server.Close()
	o := must.Get(openapi.Outlined())(t)
	plan := map[string]any{"base": server.URL, "hosts": []string{server.URL}}
	var ids []string
	for _, tag := range o.Tags {
		for _, op := range tag.Operations {
			ids = append(ids, op.ID)
		}
	}
	for _, r := range o.Schemas[:len(o.Schemas)-1] { // nothing scrolls the last one to the top
		ids = append(ids, "schema-"+r.Name)
	}
	plan["ids"] = ids
	chromium.Run(t, "testdata/browser.mjs", plan, nil)
}
