package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"preismon/query/table/tabletest"
)

// TestExportSaysThatItIsSorted: not of rows that were read site by site, because
// all at once were too many.
func TestExportSaysThatItIsSorted(t *testing.T) {
	t.Parallel()
	hours := map[string][]int{"a": {8, 7}, "b": {9}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		site := r.URL.Query().Get("site")
		switch {
		case r.URL.Path == "/v1/sites":
			fmt.Fprint(w, `{"data":[{"site":"a"},{"site":"b"}],"paging":{"limit":100,"returned":2,"nextCursor":null}}`)
		case site == "":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"code":"RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD","detail":"Narrow it."}`)
		default:
			var rows []string
			for _, hour := range hours[site] {
				rows = append(rows, fmt.Sprintf(`{"itemId":"1","site":%q,"capturedAt":"2026-10-01T%02d:00:00.000Z"}`, site, hour))
			}
			sendRows(w, r, "", rows...)
		}
	}))
	defer server.Close()
	for _, c := range []struct {
		selectors []string
		want      []string
	}{
		{[]string{"--site", "a"}, []string{"-capturedAt"}},
		{[]string{"--order-id", "17"}, nil},
	} {
		name := filepath.Join(t.TempDir(), "latest.parquet")
		exits(t, 0)(inProcess(t, append([]string{"export", "--latest-per-pair", "-o", name, "--url", server.URL, "--token", "any"}, c.selectors...)...))
		if got, err := tabletest.Sorted(read(t, name)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: sorted by %q, want %q: %v", c.selectors, got, c.want, err)
		}
	}
}
