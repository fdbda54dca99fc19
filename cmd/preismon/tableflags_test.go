package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
	"preismon/query/wire"
)

// Lists of /ext/v1, feeds and explanations have the same records when written as
// tables, across their pages; a field that this program does not know is left out, and half an
// answer has no end.
func TestRecordsAsTables(t *testing.T) {
	t.Parallel()
	const (
		side  = `{"capturedAt":"2026-03-01T07:30:00.250Z","coverageState":"PRICE_OBSERVED","price":13.50,"totalPrice":null,"currencyCode":"EUR","merchant":"=Shop","isBuyBox":true}`
		mover = `{"itemId":"4711","site":"a","kinds":["PRICE_DOWN","UNDERCUT"],"priceDifference":-1.50,"priceDifferencePercent":null,"before":%s,"after":` + side + `%s}`
		found = `{"asked":{"ean":"4006381333931"},"known":true,"seen":true,"items":["1"],"noResult":[{"itemId":"1","site":"b"}],"latest":[` +
			`{"itemId":"1","site":"a","capturedAt":"2026-03-01T07:30:00.250Z","availability":"AVAILABLE","price":1.50,"priceMoney":{"value":1.50,"amountMinor":150,"currencyCode":"EUR"},"currencyCode":"EUR","merchant":null},` +
			`{"itemId":"1","site":"c","capturedAt":"2026-03-01T07:30:00.250Z","availability":"UNKNOWN","price":null,"priceMoney":null,"currencyCode":null,"merchant":null}]}`
		changed = `{"itemId":"4711","site":"a","capturedAt":"2026-03-01T07:30:00.250Z","availability":"AVAILABLE","price":%s,"priceMoney":%s,"currencyCode":"EUR","merchant":null,` +
			`"coverageState":"PRICE_OBSERVED","lastProcessedAt":null,"rowId":"AAAAAAAAAAAAAAA%s"%s}`
		alert     = `{"alertId":"AAAAAAAAAAAAAAA1","rule":"PRICE_DROP","itemId":"4711","site":"a","comparedPrice":15.00,"deadline":null,"before":%s,"after":` + side + `%s}`
		explained = `{"request":"/v1/results?site=a","accepted":true,"problem":null,"window":{"capturedFrom":"2026-03-01T00:00:00.000Z","capturedTo":null,"timezone":"UTC"},` +
			`"sealed":false,"pairs":12,"rowsAtMost":100,"scannedAtMost":null,"bytesAtMost":4096,"contentType":null,"narrower":[],"newer":1}`
	)
	broken := false
	feed := func(w io.Writer, r *http.Request, row string) {
		if r.URL.Query().Get("since") == "t0" {
			fmt.Fprintf(w, `{"data":[`+row+`],"progress":{"token":"t1","upToDate":false}}`, "null", "")
		} else {
			fmt.Fprintf(w, `{"data":[`+row+`],"progress":{"token":"t2","upToDate":true}}`, side, `,"newer":{"a":[1]}`)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch second := r.URL.Query().Has("cursor"); {
		case strings.HasSuffix(r.URL.Path, "/changes"):
			row := fmt.Sprintf(changed, "1.50", `{"value":1.50,"amountMinor":150,"currencyCode":"EUR"}`, "1", "")
			if r.URL.Query().Get("since") != "t0" {
				row = fmt.Sprintf(changed, "null", "null", "2", `,"newer":1`)
			}
			feed(w, r, row+"%.0s%.0s")
		case strings.HasSuffix(r.URL.Path, "/alerts"):
			feed(w, r, alert)
		case strings.HasSuffix(r.URL.Path, "/explain"):
			fmt.Fprint(w, explained)
		case r.Method == http.MethodPost:
			fmt.Fprintf(w, `{"data":[%s],"query":{}}`, found)
		case second && broken:
			w.WriteHeader(http.StatusBadRequest)
		case second:
			fmt.Fprintf(w, `{"data":[`+mover+`],"paging":{},"query":{}}`, side, `,"newer":{"a":[1]}`)
		default:
			fmt.Fprintf(w, `{"data":[`+mover+`],"paging":{"nextCursor":"c"},"query":{}}`, "null", "")
		}
	}))
	defer server.Close()
	ask := func(form string, args ...string) ([]byte, int) {
		var out, errs bytes.Buffer
		format, at := []string{"--format", form}, []string{"--url", server.URL, "--token", "any"}
		all := slices.Concat(args, at, format)
		if args[0] == "explain" { // which passes on the flags after its command
			all = slices.Concat(args[:1], format, args[1:], at)
		}
		code := run(t.Context(), all, streams{strings.NewReader(""), &out, &errs})
		return out.Bytes(), code
	}
	for command, columns := range map[string][]frame.Column{
		"movers --since 2026-03-01": query.RecordColumns[query.Mover](), "lookup --ean 4006381333931": query.LookupColumns(),
		"changes --since t0": query.FeedColumns(query.Include{Coverage: true}), "alerts --since t0": query.RecordColumns[query.Alert](),
		"explain results --site a": query.RecordColumns[wire.Explanation](),
	} {
		args := strings.Fields(command)
		lines, _ := ask("ndjson", args...)
		want, err := tabletest.Lines(lines)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %v", lines, err)
		}
		for _, r := range want {
			delete(r, "newer")
		}
		for form, read := range map[string]func([]byte) ([]tabletest.Record, error){
			"arrow":   func(b []byte) ([]tabletest.Record, error) { return tabletest.Arrow(b, time.UTC) },
			"parquet": func(b []byte) ([]tabletest.Record, error) { return tabletest.Columns(b, columns, time.UTC) },
		} {
			out, code := ask(form, args...)
			got, err := read(out)
			if diff := cmp.Diff(want, got); err != nil || code != 0 || diff != "" {
				t.Errorf("%s as %s: exit code %d, %v (-want +got): %s", command, form, code, err, diff)
			}
		}
	}
	broken = true
	for _, form := range []string{"arrow", "parquet"} {
		out, code := ask(form, "movers", "--since", "2026-03-01")
		_, arrow := tabletest.Arrow(out, time.UTC)
		_, parquet := tabletest.Columns(out, query.RecordColumns[query.Mover](), time.UTC)
		if code != exitIncomplete || arrow == nil || parquet == nil {
			t.Errorf("%s: exit code %d of half an answer, %d bytes", form, code, len(out))
		}
	}
}
