package rest_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/table/tabletest"
)

// TestWholeGets: a reader that can only get a file as a whole, as DuckDB does with
// force_download, gets all of a stream: by one GET, which has a length neither
// before nor after it, asks for no range and for no coding, and wants no trailers.
func TestWholeGets(t *testing.T) {
	s := serveOdd(t)
	now := time.Now().UTC()
	path := "/v1/results/stream?includeExportFields=true&site=shop-one&" +
		url.Values{"capturedFrom": {now.Add(-100 * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Add(time.Hour).Format(time.RFC3339)}}.Encode()
	want := must.Get(tabletest.Lines(s.get(path, s.token(reader)).body))(t)
	if len(want) < 5 {
		t.Fatalf("%d rows", len(want))
	}
	for _, media := range []string{parquetMedia, csvMedia} {
		r := s.request(http.MethodGet, path, s.token(reader), nil)
		r.Header = http.Header{
			"Authorization": r.Header["Authorization"], "Accept": {media}, "Prefer": {"no-trailers"},
			"User-Agent": {"duckdb/v1.4.1(linux_amd64) node-neo-api"}, "Connection": {"keep-alive"}, "Accept-Encoding": {"identity"},
		}
		a := s.do(r)
		if a.StatusCode != http.StatusOK || a.Header.Get("Trailer") != "" || len(a.Trailer) > 0 || a.Header.Get("Content-Encoding") != "" || a.Header.Get("Accept-Ranges") == "bytes" {
			t.Errorf("%s: %d %v, trailers %v", media, a.StatusCode, a.Header, a.Trailer)
		}
		equals.Checkf(t, want, a.reread(t, (query.Include{ExportFields: true}).Fields(), time.UTC), "%s", media)
	}
}
