package main

import (
	"net/http/httptest"
	"os"
	"testing"

	"preismon/deploy/testserver/chromium"
	"preismon/deploy/testserver/must"
	"preismon/query/explorer"
)

// TestExplorerAlone checks in a browser what the explorer does when answers are
// late, come in another order or fail, and what it shows of a history: the
// scripts make up the service.
func TestExplorerAlone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	exits(t, 0)(preismon(t, nil, "explorer-assets", folder))
	filters := must.Get(explorerFilters())(t)
	e := must.Get(explorer.New("", filters, os.DirFS(folder)))(t)
	server := httptest.NewServer(e)
	defer server.Close()
	for _, script := range []string{"alone.mjs", "history.mjs"} {
		chromium.Run(t, "testdata/explorer/"+script, explorerPlan{Base: server.URL, Hosts: []string{server.URL + "/"}}, nil)
	}
}
