package rest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
)

// TestClickHouseReadsTables: an independent reader finds the same values in
// Arrow, in each of its variants, and in Parquet, with all groups of fields.
func TestClickHouseReadsTables(t *testing.T) {
	s := serveOdd(t)
	db := testserver.ClickHouse(t)
	var file []byte
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(file)))
	}))
	defer files.Close()
	now := time.Now().UTC() // the same window each time
	path := "/v1/results/stream?globalScope=true&includeExportFields=true&includeIdentity=true&includeCoverage=true&includeOrderIds=true&includeCustomerData=true&" +
		url.Values{"capturedFrom": {now.Add(-100 * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Add(time.Hour).Format(time.RFC3339)}}.Encode()
	include := query.Include{ExportFields: true, Identity: true, Coverage: true, OrderIDs: true, CustomerData: true}
	lines := must.Get(tabletest.Lines(s.get(path, s.token(reader)).body))(t)
	if len(lines) < 20 {
		t.Fatalf("%d rows", len(lines))
	}
	columns := query.Columns(include.Fields())
	want := []tabletest.Record{}
	for _, row := range lines {
		want = append(want, withoutNullObjects(columns, row))
	}
	for media, format := range map[string]string{
		arrowMedia: "ArrowStream", arrowMedia + ";dictionaries=replaced": "ArrowStream", arrowMedia + ";compression=lz4": "ArrowStream",
		arrowMedia + ";compression=zstd;dictionaries=replaced": "ArrowStream", parquetMedia: "Parquet",
	} {
		a := s.getAs(path, media)
		if got := strings.ReplaceAll(a.Header.Get("Content-Type"), " ", ""); len(got) != len(media) {
			t.Errorf("%s: Content-Type %s", media, got)
		}
		file = a.body // the order is that of one thread
		got := selected(t, db, "SELECT * FROM url('"+files.URL+"/x', '"+format+"') SETTINGS max_threads = 1, date_time_output_format = 'iso', output_format_json_quote_64bit_integers = 0, schema_inference_make_columns_nullable = 'auto' FORMAT JSONEachRow")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %d rows of %d (-want +got): %.3000s", media, len(got), len(want), diff)
		}
	}
}

// TestClickHouseReadsTheStream: ClickHouse's url function reads a stream of the
// service directly in every form, with the headers of the how-to. It mistakes
// trailers for a damaged transfer, so it requests none; a stream that breaks is
// an error.
func TestClickHouseReadsTheStream(t *testing.T) {
	s := serveOdd(t)
	db := testserver.ClickHouse(t)
	now := time.Now().UTC()
	path := "/v1/results/stream?globalScope=true&includeExportFields=true&" +
		url.Values{"capturedFrom": {now.Add(-100 * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Add(time.Hour).Format(time.RFC3339)}}.Encode()
	lines := must.Get(tabletest.Lines(s.get(path, s.token(reader)).body))(t)
	read := func(s *surface, what, media, format string) string {
		return "SELECT " + what + " FROM url('" + s.URL + path + "', '" + format + "', headers('Authorization' = 'Bearer " + s.token(reader) +
			"', 'Accept' = '" + media + "', 'Prefer' = 'no-trailers')) SETTINGS max_threads = 1, http_max_tries = 1, "
	}
	ask := func(s *surface, media, format string) string {
		return read(s, "itemId, site, price", media, format) + "output_format_json_quote_64bit_integers = 0 FORMAT JSONEachRow"
	}
	forms := map[string]string{ndjsonMedia: "JSONEachRow", csvMedia: "CSVWithNames", arrowMedia: "ArrowStream", parquetMedia: "Parquet"}
	for media, format := range forms {
		got := selected(t, db, ask(s, media, format))
		if len(got) != len(lines) || len(got) < 20 {
			t.Errorf("%s: %d rows of %d", media, len(got), len(lines))
			continue
		}
		for i, row := range got {
			if row["site"] != lines[i]["site"] || fmt.Sprint(row["itemId"]) != fmt.Sprint(lines[i]["itemId"]) || row["price"] != lines[i]["price"] {
				t.Errorf("%s: row %d is %v, want %v", media, i, row, lines[i])
				break
			}
		}
	}
	want := cellsOf(t, s.getAs(path, csvMedia).body)
	got := selected(t, db, read(s, "*", csvMedia, "CSVWithNames")+"input_format_csv_use_best_effort_in_schema_inference = 0, schema_inference_make_columns_nullable = 0 FORMAT JSONEachRow")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells of CSV (-want +got): %.3000s", diff)
	}
	broken := serve(t)
	broken.store.each = failures["store"]
	for media, format := range forms {
		resp := must.Get(http.Post(db.HTTPAs(t, embedded.AdminUser), "text/plain", strings.NewReader(ask(broken, media, format))))(t)
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK && !bytes.Contains(text, []byte("DB::")) {
			t.Errorf("%s: of a stream that breaks ClickHouse makes %q", media, text)
		}
	}
	r := s.request(http.MethodGet, path, s.token(reader), nil)
	r.Header.Set("Prefer", "no-trailers")
	a := s.do(r)
	if a.Header.Get("Preference-Applied") != "no-trailers" || a.Header.Get("Trailer") != "" || len(a.Trailer) > 0 {
		t.Errorf("%v, trailers %v", a.Header, a.Trailer)
	}
}

// withoutNullObjects returns a row as ClickHouse reads it: all members of an
// absent object are null.
func withoutNullObjects(columns []frame.Column, row tabletest.Record) tabletest.Record {
	out := tabletest.Record{}
	for i := range columns {
		c := &columns[i]
		v := row[c.Name]
		switch {
		case c.Kind == frame.Object:
			members, _ := v.(tabletest.Record)
			v = withoutNullObjects(c.Members, members)
		case c.Kind == frame.List && c.Members[0].Kind == frame.Object:
			all := []any{}
			for _, one := range v.([]any) {
				all = append(all, withoutNullObjects(c.Members[0].Members, one.(tabletest.Record)))
			}
			v = all
		}
		out[c.Name] = v
	}
	return out
}

func selected(t *testing.T, db *testserver.ClickHouseServer, statement string) []tabletest.Record {
	t.Helper()
	resp := must.Get(http.Post(db.HTTPAs(t, embedded.AdminUser), "text/plain", strings.NewReader(statement)))(t)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s", resp.Status, text)
	}
	all := []tabletest.Record{}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row tabletest.Record
		must.Do(t, json.Unmarshal(lines.Bytes(), &row))
		all = append(all, row)
	}
	return all
}
