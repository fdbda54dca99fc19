package client_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/cmd/preismon/client"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

const csvHeader = "itemId,site,capturedAt,availability,price,merchant\r\n"

// csv is the row as a record; the merchants of some have line ends and quotes.
func (r row) csv() string {
	merchant := ""
	if r.n%3 == 0 {
		merchant = "\"Shop, \"\"n\"\"\r\n\""
	}
	return fmt.Sprintf("%d,%s,%s,AVAILABLE,1.5,%s\r\n", r.n+1, r.site, r.at.UTC().Format("2006-01-02T15:04:05.000Z"), merchant)
}

// csvOf returns rows as a whole table.
func csvOf(rows []row) string {
	var text strings.Builder
	text.WriteString(csvHeader)
	for _, r := range rows {
		text.WriteString(r.csv())
	}
	return text.String()
}

// servesCSV makes the shop answer in CSV. streamed returns what a stream has of
// the rows after the cursor, and whether it says that it is complete.
func (s *shop) servesCSV(streamed func(rows []row) (of []row, complete bool)) {
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		if r.Header.Get("Accept") != "text/csv" {
			return false
		}
		at, _ := strconv.Atoi(q.Get("cursor"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		h, rows, complete := w.Header(), s.matching(q)[at:], false
		h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
		if r.URL.Path == "/v1/results/stream" {
			rows, complete = streamed(rows)
			h.Set("Trailer", "X-Results-Complete, X-Results-Returned")
		} else {
			if limit < len(rows) {
				h.Set("X-Results-Next-Cursor", strconv.Itoa(at+limit))
				rows = rows[:limit]
			}
			h.Set("X-Results-Returned", strconv.Itoa(len(rows)))
		}
		_, _ = io.WriteString(w, csvOf(rows))
		if complete {
			h.Set("X-Results-Complete", "true")
			h.Set("X-Results-Returned", strconv.Itoa(len(rows)))
		}
		return true
	}
}

// TestCutCSV: of streams of CSV that break at random bytes, whole records are
// passed on, once and in order, under one header.
func TestCutCSV(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		s := &shop{t: t, rows: tied(3_000, time.Second, "a", "b")}
		s.servesCSV(func(rows []row) ([]row, bool) { return rows, true })
		p := cut(t, s.serve().URL, seed, 30_000)
		q := url.Values{"site": {"a"}}
		var out bytes.Buffer
		passed := 0
		must.Do(t, unchecked(t, p.URL).Results(t.Context(), client.Results{Params: q, Stream: true, Table: client.CSV(&out), Passed: func(rows int) { passed += rows }}))
		want := s.matching(q)
		if diff := gocmp.Diff(csvOf(want), out.String()); diff != "" || passed != len(want) || p.cuts < 3 {
			t.Errorf("after %d cuts %d rows of %d: %.2000s", p.cuts, passed, len(want), diff)
		}
	}
}

// TestOtherRowsOfCSV is TestOtherRows for a table.
func TestOtherRowsOfCSV(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, rows: tied(900, time.Second, "a")}
	s.servesCSV(func(rows []row) ([]row, bool) { return rows[50:70], false })
	var out bytes.Buffer
	err := unchecked(t, s.serve().URL).Results(t.Context(), client.Results{Params: url.Values{"site": {"a"}}, Stream: true, Table: client.CSV(&out)})
	if n := strings.Count(out.String(), "AVAILABLE"); err == nil || n != 120 || !strings.Contains(err.Error(), "120 rows") || !strings.Contains(err.Error(), "other rows") {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestTablesThatFail: what ends a read at once.
func TestTablesThatFail(t *testing.T) {
	t.Parallel()
	one := csvOf(tied(1, time.Second, "a"))
	for name, c := range map[string]struct {
		to    io.Writer // nil: takes everything
		media string    // empty: text/csv
		pages []string  // that are requested, each said to have one row
		want  string
	}{
		"disk full":     {to: fullDisk{}, pages: []string{one}, want: "disk full"},
		"an old server": {media: "application/json", pages: []string{"{}"}, want: "answered with application/json instead of text/csv"},
		"other columns": {pages: []string{one, "itemId,site\r\n1,a\r\n"}, want: "columns have changed"},
		"too few rows":  {pages: []string{one, csvHeader}, want: "a page of 1 rows has 0"},
		"half a record": {pages: []string{one, csvHeader + `1,"a`}, want: "unexpected EOF"},
		"no header":     {pages: []string{one, ""}, want: "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pages := &shop{t: t}, 0
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", cmp.Or(c.media, "text/csv"))
				w.Header().Set("X-Results-Returned", "1")
				w.Header().Set("X-Results-Next-Cursor", "1")
				if pages++; pages <= len(c.pages) {
					_, _ = io.WriteString(w, c.pages[pages-1])
				}
				return true
			}
			to := c.to
			if to == nil {
				to = io.Discard
			}
			err := unchecked(t, s.serve().URL).Results(t.Context(), client.Results{Params: url.Values{"site": {"a"}}, Table: client.CSV(to)})
			if err == nil || !strings.Contains(err.Error(), c.want) || pages != len(c.pages) {
				t.Errorf("%d pages, %v", pages, err)
			}
		})
	}
}

// pieces is a text that arrives in small pieces.
type pieces struct {
	text string
	read int
}

func (p *pieces) Read(to []byte) (int, error) {
	n := copy(to[:min(len(to), 1<<10)], p.text[p.read:])
	if p.read += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestLongRecordsOfCSV: a long record that arrives in small pieces costs no more
// than short ones, and what never ends is not read to its end.
func TestLongRecordsOfCSV(t *testing.T) {
	t.Parallel()
	read := func(text string) (rows, most int, err error) {
		in := &pieces{text: text}
		err = client.CSV(io.Discard).Read(in, false, func(n int, _ []byte) { rows += n })
		return rows, in.read, err
	}
	for name, cell := range map[string]string{"one quote": strings.Repeat("x", 24<<20), "many quotes": strings.Repeat("\"\"\n", 8<<20)} {
		began := time.Now()
		rows, _, err := read(csvHeader + `1,a,2,AVAILABLE,1.5,"` + cell + "\"\r\n2,a,2,AVAILABLE,1.5,\r\n")
		if took := time.Since(began); err != nil || rows != 2 || took > 5*time.Second {
			t.Errorf("%s: %d rows in %v, %v", name, rows, took, err)
		}
	}
	if rows, most, err := read(csvHeader + `1,"a` + strings.Repeat("x", 80<<20)); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") || rows != 0 || most > 66<<20 {
		t.Errorf("%d rows in %d bytes, %v", rows, most, err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestLocal: on one machine nothing is compressed.
func TestLocal(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost": true, "http://[::1]:8080/x": true, "https://prices.example": false, "http://10.0.0.7:8080": false, "http://127.0.0.1.example": false,
	} {
		equals.Is(t, want, unchecked(t, url).Local(), "%s", url)
	}
}
