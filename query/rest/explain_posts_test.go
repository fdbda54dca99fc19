package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/query"
)

// A lookup is explained by its identifiers as parameters, and accepted or
// refused as the same ones in a body are, with the same problem.
func TestExplainedLookup(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	const path = "/ext/v1/lookup"
	accepted := 0
	for _, c := range []struct{ parameters, body, query string }{
		{"eans=4006381333931", `{"eans":["4006381333931"]}`, ""},
		{"eans=4006381333931&eans=4006381333931&itemIds=11", `{"eans":["4006381333931","4006381333931"],"itemIds":["11"]}`, ""},
		{"pzns=12345678&asins=B000000001:de&asins=B000000001%3Aco.uk", `{"pzns":["12345678"],"asins":[{"asin":"B000000001","asinLocale":"de"},{"asin":"B000000001","asinLocale":"co.uk"}]}`, ""},
		{"itemIds=11&timezone=Europe/Berlin", `{"itemIds":["11"]}`, "timezone=Europe/Berlin"},
		{"", `{}`, ""},
		{"eans=x&eans=4006381333931", `{"eans":["x","4006381333931"]}`, ""},
		{"eans=", `{"eans":[""]}`, ""},
		{"eans=%FF", `{"eans":["\ufffd"]}`, ""},
		{"itemIds=0", `{"itemIds":["0"]}`, ""},
		{"asins=B000000001", `{"asins":[{"asin":"B000000001","asinLocale":""}]}`, ""},
		{"asins=b:de:at", `{"asins":[{"asin":"b","asinLocale":"de:at"}]}`, ""},
		{"eans=4006381333931&limit=1", `{"eans":["4006381333931"]}`, "limit=1"},
		{"ean=4006381333931", `{}`, "ean=4006381333931"},
		{"eans=4006381333931&timezone=Nowhere", `{"eans":["4006381333931"]}`, "timezone=Nowhere"},
	} {
		r := s.request("POST", path+"?"+c.query, s.token(reader), strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		read, told := s.do(r), s.explain(path, c.parameters)
		if told.Accepted != (read.StatusCode == 200) || !strings.HasPrefix(told.Request, path+"?") && c.parameters != "" {
			t.Errorf("%s: %d %s, explained %+v", c.parameters, read.StatusCode, read.body, told)
			continue
		}
		if !told.Accepted {
			if p := decode[problem](t, read); *told.Problem != p {
				t.Errorf("%s: %+v, explained %+v", c.parameters, p, *told.Problem)
			}
			continue
		}
		accepted++
		of := decode[struct{ Data []json.RawMessage }](t, read)
		if *told.RowsAtMost != uint64(len(of.Data)) || *told.BytesAtMost < uint64(len(read.body)) || *told.Pairs != 12 || told.ScannedAtMost == nil || told.ContentType != nil {
			t.Errorf("%s: %d records in %d bytes, explained %+v", c.parameters, len(of.Data), len(read.body), told)
		}
	}
	if accepted != 4 {
		t.Errorf("%d accepted", accepted)
	}
	many := "itemIds=1" + strings.Repeat("&itemIds=1", 5_000)
	if told := s.explain(path, many); !told.Accepted || *told.RowsAtMost != 5_001 {
		t.Errorf("of many: %t %d", told.Accepted, *told.RowsAtMost)
	}
	quota := s.get("/ext/v1/explain?path="+path+"&eans=4006381333931", s.token(reader))
	wantQuota(t, quota)
	s.get("/ext/v1/explain?path="+path+"&eans=4006381333931", "").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.get("/ext/v1/explain?path="+path+"&eans=4006381333931", s.token(narrow)).wantProblem(t, 403, "AUTH_FORBIDDEN")
}

// A download is explained without any of its content: with its length and its
// type, or with the problem that refuses it.
func TestExplainedDownload(t *testing.T) {
	w := newFilesWorld(t, func(s *settings) { s.query.MaxDownloadBytes = 1_000 })
	w.job(query.Exports, orderA, 11, "Daily")
	w.publish(query.Exports, orderA, 11, "2026-03-01T05:00:00Z", "prices", "prices.csv", []byte("a;b\n1;2\n"))
	w.publish(query.Exports, orderA, 11, "2026-03-02T05:00:00Z", "archive", "archive.zip", bytes.Repeat([]byte("z"), 1_000))
	w.publish(query.Exports, orderA, 11, "2026-03-03T05:00:00Z", "large", "large.csv", bytes.Repeat([]byte("z"), 1_001))
	w.publish(query.Imports, orderA, 12, "2026-03-03T05:00:00Z", "in", "in", []byte("x"))
	w.add(document{order: orderA, job: 11, at: "2026-03-04T05:00:00Z", files: []file{{name: "gone", filename: "gone.csv", content: []byte("gone")}}})
	for _, c := range []struct {
		order       any
		kind, query string
		code        string // of the refusal
	}{
		{orderA, "exports", "name=prices", ""},
		{orderA, "exports", "name=archive&latest=true", ""},
		{orderA, "exports", "dateTo=2026-03-01", ""},
		{orderA, "imports", "", ""},
		{orderA, "exports", "name=large", "PAYLOAD_TOO_LARGE"},
		{orderA, "exports", "name=gone", "HISTORY_ARTIFACT_CONTENT_MISSING"},
		{orderA, "exports", "name=none", "HISTORY_ARTIFACT_NOT_FOUND"},
		{orderA, "exports", "", "MVP_VALIDATION_ERROR"},
		{orderA, "exports", "dateFrom=x", "MVP_VALIDATION_ERROR"},
		{orderA, "exports", "nonsense=1", "MVP_VALIDATION_ERROR"},
		{missing, "exports", "latest=true", "ORDER_NOT_FOUND"},
		{foreign, "exports", "latest=true", "ORDER_NOT_FOUND"},
	} {
		path := fmt.Sprintf("/v1/orders/%v/%s/history/download", c.order, c.kind)
		read, told := w.get(path+"?"+c.query, w.token(reader)), w.explain(path, c.query)
		if told.Accepted != (read.StatusCode == 200) || told.Accepted != (c.code == "") {
			t.Errorf("%s?%s: %d %s, explained %+v", path, c.query, read.StatusCode, read.body, told)
			continue
		}
		if !told.Accepted {
			p := decode[problem](t, read)
			if diff := cmp.Diff(p, *told.Problem); diff != "" || p.Code != c.code {
				t.Errorf("%s?%s: %s: %s", path, c.query, p.Code, diff)
			}
			continue
		}
		if *told.BytesAtMost != uint64(len(read.body)) || *told.ContentType != read.Header.Get("Content-Type") || told.RowsAtMost != nil {
			t.Errorf("%s?%s: %d bytes of %s, explained %+v", path, c.query, len(read.body), read.Header.Get("Content-Type"), told)
		}
	}
	const path = "/v1/orders/101/exports/history/download"
	r := w.request("GET", "/ext/v1/explain?path="+path+"&name=prices", w.token(reader), nil)
	r.Header.Set("If-None-Match", w.get(path+"?name=prices", w.token(reader)).Header.Get("ETag"))
	r.Header.Set("Range", "bytes=0-1")
	if a := w.do(r); a.StatusCode != 200 || *decode[explained](t, a).BytesAtMost != 8 {
		t.Errorf("with the tag and a range of it: %d %s", a.StatusCode, a.body)
	}
	w.get("/ext/v1/explain?path="+url.QueryEscape(path)+"&latest=true", w.token(narrow)).wantProblem(t, 403, "AUTH_FORBIDDEN")
}

// Lists whose records refuse nothing are explained without any of these.
func TestExplainedLists(t *testing.T) {
	s := serve(t)
	lists := []string{"Sites", "Items", "FileJobs", "FileEntries"}
	s.store.breakDown(func(method string) error {
		for _, list := range lists {
			if method == list {
				t.Errorf("%s is asked", method)
			}
		}
		return nil
	})
	for _, path := range []string{
		"/v1/sites", "/v1/items", "/v1/orders", "/v1/orders/5/exports", "/v1/orders/5/imports", "/v1/orders/5/exports/history", "/v1/orders/5/imports/history",
	} {
		if told := s.explain(path, "limit=7"); !told.Accepted || *told.RowsAtMost != 7 || *told.BytesAtMost > 100_000 {
			t.Errorf("%s: %+v", path, told)
		}
	}
}
