package store

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"text/template/parse"
	"time"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/cache"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// StatementEnded describes one statement that has ended.
type StatementEnded struct {
	Statement string // the name of its file under sql/, without .sql
	Took      time.Duration
	Rows      uint64 // read by ClickHouse from its tables
	Bytes     uint64 // uncompressed, read with them
	Err       error  // as returned to the reader
}

// Statements returns the names of all statements.
func Statements() []string {
	files, err := sqlFiles.ReadDir("sql")
	if err != nil {
		panic(err) // cannot fail: the files are embedded
	}
	all := make([]string, 0, len(files))
	for _, f := range files {
		if !parse.IsEmptyTree(templates.Lookup(f.Name()).Root) { // otherwise it holds only parts of others
			all = append(all, nameOf(f.Name()))
		}
	}
	return all
}

// Stats is how well a Store's memory has worked so far.
type Stats struct {
	Mandate struct {
		Right, Wrong, Unknown uint64 // reads of an account whose mandate was remembered, was another, was not
	}
	Accounts cache.Stats // for what accounts may do
}

// Stats returns the figures.
func (s *Store) Stats() (st Stats) {
	m := s.accounts
	st.Mandate.Right, st.Mandate.Wrong, st.Mandate.Unknown = m.right.Load(), m.wrong.Load(), m.unknown.Load()
	st.Accounts = m.Stats()
	return st
}

// execution is a running statement.
type execution struct {
	store     *Store
	statement string
	id        string // ClickHouse's query id
	began     time.Time
	span      trace.Span

	rows, bytes atomic.Uint64 // clickhouse-go reports them from a goroutine of its own
}

// ask gives a statement its query id and, within a trace, its span. The id
// begins with q-, so that no request can name a statement of a projector, and
// ends with a number that only this process uses: two running statements must
// not have the same id.
func (s *Store) ask(ctx context.Context, st statement) (context.Context, *execution) {
	id := "q-"
	if request := query.RequestID(ctx); request != "" {
		id += request + "-"
	}
	a := &execution{
		store: s, statement: st.name, began: time.Now(), span: trace.SpanFromContext(ctx),
		id: id + s.life + strconv.FormatUint(s.statements.Add(1), 10),
	}
	if !a.span.IsRecording() {
		if a.span.SpanContext().IsValid() { // if the trace is not recorded here, ClickHouse must not record it either
			ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
		}
		a.span = nil
		return ctx, a
	}
	ctx, a.span = a.span.TracerProvider().Tracer("preismon/query/store").Start(ctx, "clickhouse "+st.name,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("db.system.name", "clickhouse"), attribute.String("db.query.summary", st.name),
			attribute.String("clickhouse.query_id", a.id)))
	return ctx, a
}

// end reports the statement and adds to its error the id that finds it in
// ClickHouse's logs.
func (a *execution) end(err error) error {
	if err != nil {
		err = fmt.Errorf("%s (query id %s): %w", a.statement, a.id, err)
	}
	rows, bytes := a.rows.Load(), a.bytes.Load()
	if a.store.onStatement != nil {
		a.store.onStatement(StatementEnded{Statement: a.statement, Took: time.Since(a.began), Rows: rows, Bytes: bytes, Err: err})
	}
	if a.span != nil {
		a.span.SetAttributes(attribute.Int64("clickhouse.read_rows", int64(rows)), attribute.Int64("clickhouse.read_bytes", int64(bytes)))
		if err != nil && fault.KindOf(err) != fault.NotFound {
			a.span.SetStatus(codes.Error, fault.KindOf(err).String())
		}
		a.span.End()
	}
	return err
}

func (a *execution) progress(rows, bytes uint64) {
	a.rows.Add(rows)
	a.bytes.Add(bytes)
}

// context returns a context with the options that clickhouse-go reads from it.
func (a *execution) context(ctx context.Context, st statement) context.Context {
	set := clickhouse.Settings{}
	for _, s := range st.settings {
		set[s.Key] = s.Value
	}
	return clickhouse.Context(ctx, clickhouse.WithParameters(st.params.classic()), clickhouse.WithSettings(set), clickhouse.WithQueryID(a.id),
		clickhouse.WithSpan(trace.SpanContextFromContext(ctx)), clickhouse.WithProgress(func(p *clickhouse.Progress) { a.progress(p.Rows, p.Bytes) }))
}

// native returns the statement for ch-go, which takes the span from its
// context.
func (a *execution) native(st statement) ch.Query {
	return ch.Query{
		QueryID: a.id, Body: st.text, Parameters: st.params.native(), Settings: st.settings,
		OnProgress: func(_ context.Context, p proto.Progress) error { a.progress(p.Rows, p.Bytes); return nil },
	}
}
