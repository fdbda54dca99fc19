package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"preismon/cmd/preismon/records"
	"preismon/query"
)

// sendRows answers a read of results as a page of rows with an itemId, a site
// and a capturedAt, in the form that the request names; next is the cursor of
// the next page, empty for none.
func sendRows(w http.ResponseWriter, r *http.Request, next string, rows ...string) {
	fields := []string{"itemId", "site", "capturedAt"}
	var out bytes.Buffer
	var to records.Writer
	media, _, _ := strings.Cut(r.Header.Get("Accept"), ";")
	switch media {
	case "text/csv":
		to = records.CSV(&out, fields)
	case "application/vnd.apache.arrow.stream":
		to = records.Arrow(&out, query.Columns(fields))
	default:
		cursor := "null"
		if next != "" {
			cursor = strconv.Quote(next)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data":[%s],"paging":{"limit":100,"returned":%d,"nextCursor":%s}}`, strings.Join(rows, ","), len(rows), cursor)
		return
	}
	for _, row := range rows {
		if err := to.Write([]byte(row)); err != nil {
			panic(err) // a mistake in the test
		}
	}
	if err := to.Close(); err != nil {
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("X-Results-Returned", strconv.Itoa(len(rows)))
	if next != "" {
		h.Set("X-Results-Next-Cursor", next)
	}
	_, _ = w.Write(out.Bytes())
}
