package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"preismon/deploy/embedded"
)

var readBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// swallow reads an answer and counts its lines, which are the rows of a text:
// the minimum that a client can do.
func swallow(body io.Reader, began time.Time) (d done, err error) {
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
			return d, nil
		}
		if err != nil {
			return d, err
		}
	}
}

// get sends a request of a mandate's account to a query service, and returns an
// answer that is no error.
func (r *run) get(ctx context.Context, node string, mandate uint64, path string, query url.Values, header http.Header) (*http.Response, error) {
	resp, err := r.send(ctx, r.world.http, node, 1000+mandate, path, query, header)
	return accepted(path+": ", resp, err)
}

// send sends a request of an account to a query service.
func (r *run) send(ctx context.Context, client *http.Client, node string, account uint64, path string, query url.Values, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.world.nodes[node].url+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	token, err := r.world.token(account)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+token)
	return client.Do(req)
}

// accepted turns an answer with another status than 200 into an error.
func accepted(what string, resp *http.Response, err error) (*http.Response, error) {
	if err == nil && resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s%s: %s", what, resp.Status, bytes.TrimSpace(text))
	}
	return resp, err
}

// as asks for a form; empty: the default one.
func as(accept string) http.Header {
	if accept == "" {
		return nil
	}
	return http.Header{"Accept": {accept}}
}

// stream reads one of our streams to its proven end.
func (r *run) stream(ctx context.Context, node string, mandate uint64, query url.Values, header http.Header) (done, error) {
	began := time.Now()
	resp, err := r.get(ctx, node, mandate, "/v1/results/stream", query, header)
	if err != nil {
		return done{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	d, err := swallow(resp.Body, began)
	if err != nil {
		return done{}, err
	}
	if resp.Trailer.Get("X-Results-Complete") != "true" {
		return done{}, fmt.Errorf("%s: a stream without its end", resp.Status)
	}
	_, err = fmt.Sscan(resp.Trailer.Get("X-Results-Returned"), &d.rows)
	return d, err
}

// page reads one of our pages; the rows are counted after the clock was stopped.
func (r *run) page(ctx context.Context, database string, mandate uint64, query url.Values) (d done, next string, err error) {
	began := time.Now()
	resp, err := r.get(ctx, database, mandate, "/v1/results", query, nil)
	if err != nil {
		return done{}, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return done{}, "", err
	}
	d = done{took: time.Since(began), bytes: int64(len(body))}
	at := bytes.LastIndex(body, []byte(`,"paging":`))
	if at < 0 {
		return d, "", errors.New("a page without paging")
	}
	var tail struct {
		Paging struct {
			Returned   int64
			NextCursor string
		}
	}
	if err := json.Unmarshal(append([]byte{'{'}, body[at+1:]...), &tail); err != nil {
		return d, "", err
	}
	d.rows = tail.Paging.Returned
	return d, tail.Paging.NextCursor, nil
}

// paged returns what a contestant does who reads one page.
func (r *run) paged(database string, mandate uint64, query url.Values) func(context.Context) (done, error) {
	return func(ctx context.Context) (done, error) {
		d, _, err := r.page(ctx, database, mandate, query)
		return d, err
	}
}

const jsonEachRow = "FORMAT JSONEachRow"

// clickhouse reads the answer of a statement over HTTP, as the user of the query
// service.
func (r *run) clickhouse(ctx context.Context, statement, format string) (done, error) {
	began := time.Now()
	body, err := r.world.ask(ctx, embedded.QueryUser, r.world.database, statement+"\n"+format, nil)
	if err != nil {
		return done{}, err
	}
	defer body.Close() //nolint:errcheck // read to its end
	return swallow(body, began)
}

// overHTTP is the opponent that reads a statement's rows as JSON.
func (r *run) overHTTP(statement string) contestant {
	return contestant{"ClickHouse JSONEachRow over HTTP", func(ctx context.Context) (done, error) {
		return r.clickhouse(ctx, statement, jsonEachRow)
	}}
}

// byMandate matches the statements of pages and streams.
const byMandate = "%FROM observations_by_mandate%"

// compare interleaves contestants, and returns what their statements have cost too.
func (r *run) compare(ctx context.Context, database, like string, warm, rounds int, all ...contestant) ([]Series, []Work, error) {
	since := time.Now()
	series, err := r.interleave(ctx, warm, rounds, all...)
	if err != nil {
		return nil, nil, err
	}
	work, err := r.work(ctx, database, since, like)
	return series, work, err
}

// work reads from the query log what a user's statements on tables of
// observations have cost since a moment, except those of sameFields. Each Work
// is named after the client.
func (r *run) work(ctx context.Context, database string, since time.Time, like string) ([]Work, error) {
	if err := r.world.exec(ctx, "SYSTEM FLUSH LOGS query_log"); err != nil {
		return nil, err
	}
	_, user, _ := r.world.httpAccess(embedded.QueryUser)
	rows, err := r.world.rows(ctx, database, fmt.Sprintf(`
SELECT if(interface = 1, 'ours', 'ClickHouse over HTTP') AS who, count(), quantileExactIf(0.5)(read_rows, type = 'QueryFinish'), quantileExactIf(0.5)(read_bytes, type = 'QueryFinish'),
    quantileExactIf(0.5)(ProfileEvents['SelectedMarks'], type = 'QueryFinish'), quantileExactIf(0.5)(memory_usage, type = 'QueryFinish'), countIf(type != 'QueryFinish'), sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1e6
FROM system.query_log
WHERE type > 1 AND event_time_microseconds >= fromUnixTimestamp64Micro(%d) AND user = '%s' AND current_database = '%s' AND query LIKE '%s' AND query NOT LIKE '%%AS customerReferencePrices%%'
GROUP BY who ORDER BY who`, since.UnixMicro(), user, database, strings.ReplaceAll(like, "'", "''")))
	if err != nil && strings.Contains(err.Error(), "query_log") && strings.Contains(err.Error(), "Code: 60") {
		const missing = "what ClickHouse read: this server keeps no query log"
		if !slices.Contains(r.result.Missing, missing) {
			r.result.Missing = append(r.result.Missing, missing)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Work
	for _, row := range rows {
		name, v := measured(row)
		all = append(all, Work{Name: name, Queries: int(v[1]), ReadRows: v[2], ReadBytes: v[3], Marks: v[4], Memory: v[5], Failed: int(v[6]), CPU: v[7]})
	}
	return all, nil
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
	return r.statement("same.sql", struct {
		Rows, Order string
		Mandate     uint64
	}{"SELECT * " + r.from(s), s.order(), s.mandate})
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
