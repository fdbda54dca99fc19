package rest_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
)

// A summary with its rows is the JSON answer on one line, followed by the
// stream of the same window: complete only with its trailers, in every coding.
func TestItemSummaryWithRows(t *testing.T) {
	s := serve(t)
	window := lastMonth() + "&timezone=Europe/Berlin"
	for _, args := range []string{"", "&site=market-de", "&merchant=Nobody", "&orderId=5"} {
		of := args
		if !strings.HasPrefix(args, "&site=") { // the other parameters apply only to the rows
			of = ""
		}
		summary := s.get("/ext/v1/items/11/summary?"+window+of, s.token(reader))
		rows := s.get("/v1/results/stream?itemId=11&sort=asc&includeExportFields=true&"+window+args, s.token(reader))
		if args == "" && len(rows.body) == 0 {
			t.Fatal("the window has no rows")
		}
		for _, coding := range codings {
			r := s.request("GET", "/ext/v1/items/11/summary?includeRows=true&"+window+args, s.token(reader), nil)
			r.Header.Set("Accept-Encoding", coding)
			r.Header.Set("Accept", "text/csv") // there is one form
			resp := must.Get(s.raw().Do(r))(t)
			var got bytes.Buffer
			must.Get(got.ReadFrom(decoded(t, resp)))(t)
			must.Get(got.ReadFrom(resp.Body))(t) // for the trailers
			resp.Body.Close()
			first, rest, _ := bytes.Cut(got.Bytes(), []byte("\n"))
			if string(withoutAsOf(first)) != string(withoutAsOf(summary.body)) || !bytes.Equal(rest, rows.body) {
				t.Errorf("%s, %s: %d\n%.500s\nis not\n%.500s\nand\n%.500s", args, coding, resp.StatusCode, got.Bytes(), summary.body, rows.body)
			}
			if resp.Header.Get("Content-Type") != "application/x-ndjson" || resp.Trailer.Get("X-Results-Complete") != "true" || resp.Trailer.Get("X-Results-Returned") != rows.Trailer.Get("X-Results-Returned") {
				t.Errorf("%s, %s: %v %v", args, coding, resp.Header, resp.Trailer)
			}
		}
	}
	for args, detail := range map[string]string{
		"merchant=A": "includeRows", "orderId=5": "includeRows", "includeRows=yes": "includeRows", "includeRows=true&limit=5": "limit",
		"includeRows=true&candidatePrice=x": "candidatePrice", "includeRows=true&capturedFrom=2026-03-01": "capturedTo",
		"includeRows=true&capturedFrom=2020-01-01&capturedTo=2026-03-01": "1,000 days",
	} {
		a := s.get("/ext/v1/items/11/summary?"+args, s.token(reader))
		if a.wantProblem(t, 400, "MVP_VALIDATION_ERROR"); !strings.Contains(string(a.body), detail) {
			t.Errorf("%s: %s", args, a.body)
		}
		head := s.do(s.request("HEAD", "/ext/v1/items/11/summary?"+args, s.token(reader), nil))
		if head.StatusCode != a.StatusCode || len(head.body) > 0 {
			t.Errorf("HEAD of %s: %d %q", args, head.StatusCode, head.body)
		}
		if told := s.explain("/ext/v1/items/11/summary", args); told.Accepted {
			t.Errorf("%s is accepted where it is explained", args)
		}
	}
	told := s.explain("/ext/v1/items/11/summary", "includeRows=true&"+window)
	if all := s.explain("/v1/results/stream", "itemId=11&includeExportFields=true&"+window); !told.Accepted || told.RowsAtMost == nil || *told.RowsAtMost != *all.RowsAtMost {
		t.Errorf("explained: %+v, the stream %+v", told, all)
	}
	head := s.do(s.request("HEAD", "/ext/v1/items/11/summary?includeRows=true&"+window, s.token(reader), nil))
	if head.StatusCode != 200 || head.Header.Get("Content-Type") != "application/x-ndjson" || !slices.Contains(head.Header.Values("Vary"), "Accept-Encoding") {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
	for _, method := range []string{"GET", "HEAD"} {
		s.do(s.request(method, "/ext/v1/items/11/summary?includeRows=true&"+window, s.token(narrow), nil)).is(t, 403)
	}
}

func lastMonth() string {
	now := time.Now().UTC()
	return "capturedFrom=" + now.AddDate(0, 0, -30).Format(time.RFC3339) + "&capturedTo=" + now.Format(time.RFC3339)
}

// withoutAsOf returns a summary without the time of its reading.
func withoutAsOf(summary []byte) []byte {
	before, rest, _ := bytes.Cut(summary, []byte(`"currentFrom"`))
	_, after, _ := bytes.Cut(rest, []byte(`"timezone"`))
	return append(bytes.Clone(before), after...)
}

// A history that breaks after its first line does not look complete.
func TestItemSummaryWithRowsBreaks(t *testing.T) {
	s := serve(t)
	s.store.blockMax = 1
	s.store.each = func(n int) error {
		if n >= 1 {
			return &fault.Error{Kind: fault.Unavailable, Msg: "away"}
		}
		return nil
	}
	resp := must.Get(s.raw().Do(s.request("GET", "/ext/v1/items/11/summary?includeRows=true&"+lastMonth(), s.token(reader), nil)))(t)
	defer resp.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
		t.Errorf("it broke without an error: %d bytes, trailer %v", got.Len(), resp.Trailer)
	}
}
