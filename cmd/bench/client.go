package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"preismon/deploy/embedded"
)

var readBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// swallow reads an answer and counts its lines, which are the rows of a text:
// the minimum that a client can do.
func (r *run) swallow(body io.Reader, began time.Time) (d done) {
	buf := readBuffers.Get().(*[256 << 10]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 && d.bytes == 0 {
			d.first = time.Since(began)
		}
		d.bytes += int64(n)
		d.rows += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if errors.Is(err, io.EOF) {
			d.took = time.Since(began)
			return d
		}
		if r.failed(err) {
			return d
		}
	}
}

// request is a request to a query service.
type request struct {
	base    string       // its address
	account uint64       // whose token is sent
	token   string       // instead of the account's
	client  *http.Client // nil: that of the run
	path    string
	query   url.Values
	header  http.Header
	body    any // is posted as JSON
}

// asked is a request of a mandate's account.
func (r *run) asked(node string, mandate uint64, path string, query url.Values) request {
	return request{base: r.world.nodes[node].url, account: 1000 + mandate, path: path, query: query}
}

// send sends a request, and returns an answer that is no error; an empty one if
// there is none.
func (r *run) send(ctx context.Context, q request) *http.Response {
	resp, err := r.reply(ctx, q)
	if err != nil {
		r.failed(err)
		return &http.Response{Body: http.NoBody}
	}
	return resp
}

// reply is send for a request that may fail.
func (r *run) reply(ctx context.Context, q request) (resp *http.Response, err error) {
	if q.token == "" && q.account > 0 {
		if q.token, err = r.world.token(q.account); err != nil {
			return nil, err
		}
	}
	target := q.base + q.path + "?" + q.query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if q.body != nil {
		text, _ := json.Marshal(q.body) // of maps and texts
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(text))
	}
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, q.header)
	if q.body != nil {
		req.Host = nodeHost
		req.Header.Set("Content-Type", "application/json")
	}
	if q.token != "" {
		req.Header.Set("Authorization", "Bearer "+q.token)
	}
	resp, err = cmp.Or(q.client, r.world.http).Do(req)
	return accepted(q.path+": ", resp, err)
}

// accepted turns an answer of another status than 200 and 304 into an error.
func accepted(what string, resp *http.Response, err error) (*http.Response, error) {
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s%s: %s", what, resp.Status, bytes.TrimSpace(text))
	}
	return resp, err
}

// read reads an answer to its end.
func (r *run) read(ctx context.Context, q request) (done, *http.Response) {
	began := time.Now()
	resp := r.send(ctx, q)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	return r.swallow(resp.Body, began), resp
}

// text returns the whole of an answer.
func (r *run) text(ctx context.Context, q request) (done, []byte) {
	began := time.Now()
	resp := r.send(ctx, q)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	r.failed(err)
	return done{took: time.Since(began), bytes: int64(len(body))}, body
}

// as asks for a form; empty: the default one.
func as(accept string) http.Header {
	if accept == "" {
		return nil
	}
	return http.Header{"Accept": {accept}}
}

// stream reads one of our streams to its proven end.
func (r *run) stream(ctx context.Context, node string, mandate uint64, query url.Values, header http.Header) done {
	q := r.asked(node, mandate, "/v1/results/stream", query)
	q.header = header
	d, resp := r.read(ctx, q)
	if resp.Trailer.Get("X-Results-Complete") != "true" {
		r.failed(fmt.Errorf("%s: a stream without its end", resp.Status))
	}
	_, err := fmt.Sscan(resp.Trailer.Get("X-Results-Returned"), &d.rows)
	r.failed(err)
	return d
}

// streams is the task of reading a stream of the main database.
func (r *run) streams(mandate uint64, query url.Values, header http.Header) task {
	return func(ctx context.Context) done {
		return r.stream(ctx, r.world.database, mandate, query, header)
	}
}

// page reads one of our pages; the rows are counted after the clock was stopped.
func (r *run) page(ctx context.Context, node string, mandate uint64, query url.Values) (d done, next string) {
	d, body := r.text(ctx, r.asked(node, mandate, "/v1/results", query))
	at := bytes.LastIndex(body, []byte(`,"paging":`))
	if at < 0 {
		r.failed(errors.New("a page without paging"))
		return d, ""
	}
	var tail struct {
		Paging struct {
			Returned   int64
			NextCursor string
		}
	}
	r.failed(json.Unmarshal(append([]byte{'{'}, body[at+1:]...), &tail))
	d.rows = tail.Paging.Returned
	return d, tail.Paging.NextCursor
}

// pages is the task of reading one page.
func (r *run) pages(node string, mandate uint64, query url.Values) task {
	return func(ctx context.Context) done {
		d, _ := r.page(ctx, node, mandate, query)
		return d
	}
}

const jsonEachRow = "FORMAT JSONEachRow"

// clickhouse is the task of reading the answer of a statement over HTTP, as the
// user of the query service.
func (r *run) clickhouse(statement, format string) task {
	return func(ctx context.Context) done {
		began := time.Now()
		body := r.ask(ctx, statement+"\n"+format)
		defer body.Close() //nolint:errcheck // read to its end
		return r.swallow(body, began)
	}
}

func (r *run) ask(ctx context.Context, statement string) io.ReadCloser {
	body, err := r.world.ask(ctx, embedded.QueryUser, r.world.database, statement)
	if err != nil {
		r.failed(err)
		return http.NoBody
	}
	return body
}

// overHTTP is the opponent that reads a statement's rows as JSON.
func (r *run) overHTTP(statement string) contestant {
	return contestant{"ClickHouse JSONEachRow over HTTP", r.clickhouse(statement, jsonEachRow)}
}

// byMandate matches the statements of pages and streams.
const byMandate = "%FROM observations_by_mandate%"

// work reads from the query log what a user's statements on tables of
// observations have cost since a moment, except those of sameFields. Each Work
// is named after the client.
func (r *run) work(ctx context.Context, database string, since time.Time, like string) (all []Work) {
	_, user, _ := r.world.httpAccess(embedded.QueryUser)
	for _, row := range r.queryLog(ctx, fmt.Sprintf(`
SELECT if(interface = 1, 'ours', 'ClickHouse over HTTP') AS who, count(), quantileExactIf(0.5)(read_rows, type = 'QueryFinish'), quantileExactIf(0.5)(read_bytes, type = 'QueryFinish'),
    quantileExactIf(0.5)(ProfileEvents['SelectedMarks'], type = 'QueryFinish'), quantileExactIf(0.5)(memory_usage, type = 'QueryFinish'), countIf(type != 'QueryFinish'), sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1e6, sum(read_rows)
FROM system.query_log
WHERE type > 1 AND event_time_microseconds >= fromUnixTimestamp64Micro(%d) AND user = '%s' AND current_database = '%s' AND query LIKE '%s' AND query NOT LIKE '%%AS customerReferencePrices%%'
GROUP BY who ORDER BY who`, since.UnixMicro(), user, database, strings.ReplaceAll(like, "'", "''"))) {
		name, v := measured(row)
		all = append(all, Work{Name: name, Queries: int(v[1]), ReadRows: v[2], ReadBytes: v[3], Marks: v[4], Memory: v[5], Failed: int(v[6]), CPU: v[7], allRows: v[8]})
	}
	return all
}

// queryLog reads from the query log; no rows where the server keeps none.
func (r *run) queryLog(ctx context.Context, statement string) [][]any {
	if r.exec(ctx, "SYSTEM FLUSH LOGS query_log"); r.err != nil {
		return nil
	}
	rows, err := r.world.rows(ctx, statement)
	if err != nil && strings.Contains(err.Error(), "query_log") && strings.Contains(err.Error(), "Code: 60") {
		r.result.miss("what ClickHouse read: this server keeps no query log")
		return nil
	}
	r.err = err
	return rows
}

// measured returns the name that begins a row, and its numbers by their column.
func measured(row []any) (name string, v []float64) {
	v = make([]float64, len(row))
	for i := range row {
		v[i], _ = row[i].(float64)
	}
	name, _ = row[0].(string)
	return name, v
}

// exported is the query for all rows from a moment on, with export fields.
func (r *run) exported(from time.Time) url.Values {
	return window(from, r.data.to, "globalScope", "true", "includeExportFields", "true")
}

func window(from, to time.Time, more ...string) url.Values {
	v := url.Values{"capturedFrom": {from.Format(time.RFC3339Nano)}, "capturedTo": {to.Format(time.RFC3339Nano)}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v
}

// selection is the SQL of a read: what the query service sends for it, as one
// would write it by hand.
type selection struct {
	mandate uint64
	from    time.Time // to the end of the data
	export  bool
	asc     bool
	limit   int
	after   string // a condition
}

// sameFields returns the statement for all rows of a window with the same fields
// as results, each produced as SQL can produce it.
func (r *run) sameFields(s selection) string {
	return statements("same.sql", struct {
		Rows, Order string
		Mandate     uint64
	}{"SELECT * " + r.from(s), s.order(), s.mandate})[0]
}

func (r *run) from(s selection) string {
	return fmt.Sprintf("FROM observations_by_mandate WHERE mandate = %d AND captured_desc <= %d AND captured_desc >= %d AND (epoch, seq) <= (%d, %d)",
		s.mandate, -s.from.UnixMilli(), -r.data.to.UnixMilli(), epoch, r.data.watermarkSeq)
}

func (s selection) order() string {
	order := "captured_desc, item, site, epoch, seq, capture, offer"
	if s.asc {
		order = strings.ReplaceAll(order, ",", " DESC,") + " DESC"
	}
	return order
}

func (r *run) sql(s selection) string {
	columns := "item, site, -captured_desc AS captured_ms, epoch, seq, capture, offer, toUInt8(outcome) AS outcome_code, currency, price_minor, merchant"
	if s.export {
		columns += ", shipping_minor, is_prime, is_buy_box, rating_tenths, manufacturer, delivery_text, title, url"
	}
	text := fmt.Sprintf("SELECT %s\n%s%s\nORDER BY %s", columns, r.from(s), s.after, s.order())
	if s.limit > 0 {
		text += fmt.Sprintf("\nLIMIT %d", s.limit)
	}
	return text
}
