package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestStatementIsFoundInClickHouse: the query id of a statement contains the id of
// its request and is in its span and its error, and both clients pass the trace
// to ClickHouse.
func TestStatementIsFoundInClickHouse(t *testing.T) {
	t.Parallel()
	server := testserver.ClickHouse(t)
	var mu sync.Mutex
	var told []StatementEnded
	cfg := Defaults()
	cfg.DSN = contracts.Secret(server.QueryDSN)
	cfg.OnStatement = func(a StatementEnded) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, a)
	}
	s := must.Get(New(cfg))(t)
	defer s.Close()
	spans := tracetest.NewSpanRecorder()
	ctx, root := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(query.WithRequestID(t.Context(), "req-1"), "request")

	st := statement{name: "numbers", text: "SELECT toUInt64(count()) FROM numbers_mt(100000)", params: params{}}
	count := func(r driver.Rows) (n uint64, err error) { return n, r.Scan(&n) }
	if got, err := rows(ctx, s, st, count); err != nil || !slices.Equal(got, []uint64{100000}) {
		t.Fatal(got, err)
	}
	var n proto.ColUInt64
	must.Do(t, s.do(ctx, st, false, func(q *ch.Query) { q.Result = proto.Results{{Data: &n}} }))
	broken := statement{name: "broken", text: "SELECT throwIf(1, 'no')", params: params{}}
	_, err := rows(ctx, s, broken, count)
	if err == nil || !strings.Contains(err.Error(), "broken (query id q-req-1-") || fault.KindOf(err) != fault.Internal {
		t.Errorf("the error is %v", err)
	}
	over, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = rows(over, s, statement{name: "slow", text: "SELECT toUInt64(count()) FROM numbers(1000000000000)", params: params{}}, count)
	if fault.KindOf(err) != fault.Timeout {
		t.Errorf("the error is %v", err)
	}
	root.End()

	for i, want := range []struct {
		statement string
		rows      uint64
		err       error
	}{{"numbers", 100000, nil}, {"numbers", 100000, nil}, {"broken", 1, errors.New("")}, {"slow", 0, errors.New("")}} {
		got := told[i]
		if got.Statement != want.statement || got.Took <= 0 || (got.Err == nil) != (want.err == nil) || want.statement == "numbers" && (got.Rows != want.rows || got.Bytes == 0) {
			t.Errorf("%d: told %+v", i, got)
		}
	}

	admin := must.Get(clickhouse.ParseDSN(server.AdminDSN))(t)
	conn := must.Get(clickhouse.Open(admin))(t)
	defer conn.Close()
	must.Do(t, conn.Exec(t.Context(), "SYSTEM FLUSH LOGS"))
	ids := map[string]bool{}
	for _, span := range spans.Ended() {
		if span.Name() == "request" {
			continue
		}
		if span.Parent().SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is no child of the request", span.Name())
		}
		set := attribute.NewSet(span.Attributes()...)
		id, _ := set.Value("clickhouse.query_id")
		if ids[id.AsString()] || !strings.HasPrefix(id.AsString(), "q-req-1-") {
			t.Errorf("query id %s: another's, or of no request", id.AsString())
		}
		ids[id.AsString()] = true
		if span.Name() == "clickhouse slow" {
			continue // may still run there
		}
		var logged, traced uint64
		row := conn.QueryRow(t.Context(), `SELECT
			(SELECT count() FROM system.query_log WHERE query_id = @id),
			(SELECT count() FROM system.opentelemetry_span_log WHERE hex(trace_id) = upper(@trace))`,
			clickhouse.Named("id", id.AsString()), clickhouse.Named("trace", strings.ReplaceAll(span.SpanContext().TraceID().String(), "-", "")))
		must.Do(t, row.Scan(&logged, &traced))
		if logged == 0 || traced == 0 {
			t.Errorf("%s: %d lines in the query log, %d spans of ClickHouse in its trace", id.AsString(), logged, traced)
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d statements have a span", len(ids))
	}
	var parents uint64
	if err := conn.QueryRow(t.Context(), `SELECT uniqExact(parent_span_id) FROM system.opentelemetry_span_log WHERE attribute['clickhouse.query_id'] LIKE 'q-req-1-%'`).Scan(&parents); err != nil || parents < 3 {
		t.Errorf("ClickHouse's spans have %d parents of ours: %v", parents, err)
	}
}

// TestNamesOfStatements: Statements lists the statements that are sent, and not
// the parts that they share.
func TestNamesOfStatements(t *testing.T) {
	t.Parallel()
	all := Statements()
	for _, name := range []string{"results", "state", "moment", "density"} {
		if !slices.Contains(all, name) {
			t.Errorf("%s is missing in %v", name, all)
		}
	}
	for _, part := range []string{"scope", "files"} {
		if slices.Contains(all, part) {
			t.Errorf("%s is no statement", part)
		}
	}
}
