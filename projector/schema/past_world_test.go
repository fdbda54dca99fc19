package schema_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
	"preismon/query"
	"preismon/query/store"
)

// past is a database of an older version, with today's program on it.
type past struct {
	t       *testing.T
	version int
	server  *testserver.ClickHouseServer
	db      *sql.DB
	before  state

	service *query.Service
	tables  *clickhouse.Pool // of the projector
}

func pool(t *testing.T, dsn string, size int) *clickhouse.Pool {
	t.Helper()
	cfg := must.Get(clickhouse.ParseDSN(dsn))(t)
	p := clickhouse.Open(cfg, size)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// serve creates a query service as a node has it.
func (w *past) serve() {
	w.t.Helper()
	conn := pool(w.t, w.server.QueryDSN, 2)
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(w.server.QueryDSN)
	cfg.Migrated = func(ctx context.Context) error { return schema.CheckReads(ctx, conn, 1) }
	st := must.Get(store.New(cfg))(w.t)
	w.t.Cleanup(func() { _ = st.Close() })
	qc := query.Defaults()
	qc.CursorKey = "0123456789abcdef0123456789abcdef"
	w.service = must.Get(query.New(qc, st, func() time.Time { return time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC) }))(w.t)
}

// pastReads are the reads of today's service: each returns its answer as text.
var pastReads = map[string]func(context.Context, *query.Service) (string, error){
	"sites": func(ctx context.Context, s *query.Service) (string, error) {
		return answer(s.Sites(ctx, pastCaller, query.SitesRequest{}))
	},
	"items": func(ctx context.Context, s *query.Service) (string, error) {
		return answer(s.Items(ctx, pastCaller, query.ItemsRequest{}))
	},
	"orders": func(ctx context.Context, s *query.Service) (string, error) {
		return answer(s.Orders(ctx, pastCaller, query.OrdersRequest{}))
	},
	"order": func(ctx context.Context, s *query.Service) (string, error) {
		return answer(s.Order(ctx, pastCaller, 101))
	},
	"files": func(ctx context.Context, s *query.Service) (string, error) {
		return answer(s.FileJobs(ctx, pastCaller, query.FileJobsRequest{OrderID: 101, Direction: query.Exports}))
	},
	"window": func(ctx context.Context, s *query.Service) (string, error) {
		return results(s.Results(ctx, pastCaller, query.ResultsRequest{OrderID: 101, CapturedFrom: "2026-10-01T00:00:00Z", CapturedTo: "2026-10-02T00:00:00Z"}))
	},
	"latest": func(ctx context.Context, s *query.Service) (string, error) {
		return results(s.Results(ctx, pastCaller, query.ResultsRequest{OrderID: 101, LatestObservationPerPair: true}))
	},
}

var pastCaller = query.Principal{Account: 11}

func answer[T any](v T, err error) (string, error) {
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func results(p *query.ResultsPage, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer p.Rows.Release()
	return string(p.Rows.JSON()), nil
}

// reader repeats one read. Until the tables are today's, every answer must be a
// refusal that says what to do; after that, all answers must be the same.
type reader struct {
	name              string
	refused, answered atomic.Uint64
	mu                sync.Mutex
	answers           map[string]int // the different ones after the refusals, with their counts
}

func (w *past) read(ctx context.Context, r *reader) {
	for ; ctx.Err() == nil; time.Sleep(4 * time.Millisecond) {
		text, err := pastReads[r.name](ctx, w.service)
		if ctx.Err() != nil {
			return
		}
		if err != nil && fault.KindOf(err) == fault.Unavailable && strings.Contains(err.Error(), "run `preismon migrate`") {
			if r.refused.Add(1); r.answered.Load() > 0 {
				w.t.Errorf("%s: refused after it was answered: %v", r.name, err)
			}
			continue
		}
		if err != nil {
			text = fault.KindOf(err).String() + ": " + err.Error()
		}
		r.mu.Lock()
		r.answers[text]++
		r.mu.Unlock()
		r.answered.Add(1)
	}
}

func (r *reader) said() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.answers)
}

// migrated waits as a projector does: only for the migration.
func migrated(ctx context.Context, tables clickhouse.Conn) error {
	for {
		err := schema.Check(ctx, tables)
		if !errors.Is(err, schema.ErrNotMigrated) || ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// migrate migrates while readers read and a projector waits.
func (w *past) migrate() {
	t := w.t
	w.serve()
	w.tables = pool(t, w.server.ProjectorDSN, 4)
	old := w.version < schema.Version()
	ctx, stop := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	defer func() { stop(); beside.Wait() }()
	var readers []*reader
	for name := range pastReads {
		r := &reader{name: name, answers: map[string]int{}}
		readers = append(readers, r)
		beside.Go(func() { w.read(ctx, r) })
	}
	waited := make(chan error, 1)
	go func() { waited <- migrated(ctx, w.tables) }()
	every := func(what string, count func(*reader) uint64) {
		t.Helper()
		for _, r := range readers {
			for end := time.Now().Add(30 * time.Second); count(r) == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: %s after 30 s; answers %v", r.name, what, r.said())
				}
			}
		}
	}
	if old {
		every("not refused", func(r *reader) uint64 { return r.refused.Load() })
		for _, r := range readers {
			if n := r.answered.Load(); n > 0 {
				t.Errorf("%s: answered before the tables were today's: %v", r.name, r.said())
			}
		}
		select {
		case err := <-waited:
			t.Fatalf("the projector did not wait: %v", err)
		default:
		}
	}
	must.Do(t, sideBySide(ctx, w.server.AdminDSN, 2))
	equals.NoError(t, <-waited, "the projector waits no more, but")
	every("not answered", func(r *reader) uint64 { return r.answered.Load() })
	stop()
	beside.Wait()
	for _, r := range readers {
		want, err := pastReads[r.name](t.Context(), w.service)
		if err != nil {
			want = fault.KindOf(err).String() + ": " + err.Error()
		}
		equals.Checkf(t, map[string]int{want: int(r.answered.Load())}, r.answers, "%s: answers changed (-last of all +all)", r.name)
		equals.Is(t, (err == nil), w.version >= 7, "%s of version %d: %s", r.name, w.version, want)
		if !old && r.refused.Load() > 0 {
			t.Errorf("%s: refused on tables of today", r.name)
		}
	}
	today := must.Get(os.ReadFile("testdata/tables.golden.sql"))(t)
	equals.Checkf(t, plain(string(today)), plain(strings.ReplaceAll(tables(t, w.db, w.server.Database), ";\n\n", "\n\n")), "the tables are not those of today")
	w.unchanged()
}

// plain removes the PARTITION BY clauses and the granularity, since existing
// tables keep theirs.
func plain(text string) string { return keptLine.ReplaceAllString(text, "") }

var keptLine = regexp.MustCompile(`(?m)^(PARTITION BY|SETTINGS index_granularity =) .*\n`)

// unchanged compares every row, in the columns of the older version.
func (w *past) unchanged() {
	w.t.Helper()
	var after strings.Builder
	for insert := range strings.SplitSeq(strings.TrimSuffix(w.before.rows, ";\n\n"), ";\n\n") {
		head, _, _ := strings.Cut(insert, "\n")
		table, list, _ := strings.Cut(strings.TrimPrefix(head, "INSERT INTO "), " (")
		list = strings.TrimSuffix(list, ") VALUES")
		fmt.Fprintf(&after, "%s\n%s;\n\n", head, strings.Join(rows(w.t, w.db, w.version, table, strings.Split(list, ", ")), ",\n"))
	}
	equals.Checkf(w.t, w.before.rows, after.String(), "rows changed (-before +after)")
}

// goOn lets a projector of today apply events to the tables.
func (w *past) goOn() {
	t := w.t
	cfg := projector.DefaultConfig()
	cfg.Fence, cfg.Logger = 10, slog.New(slog.NewTextHandler(io.Discard, nil))
	p := must.Get(projector.New(cfg, w.tables))(t)
	const epoch = 1_800_000_000 // the streams were recreated meanwhile
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	records := &event.Batch{Stream: event.StreamCatalog, Epoch: epoch}
	for _, r := range []struct {
		kind event.Kind
		data event.Payload
	}{
		{event.KindSite, &contracts.Site{Site: "alpha.example", Name: "Alpha", SiteType: "shop", CountryCode: "DE", CurrencyCode: "EUR"}},
		{event.KindSite, &contracts.Site{Site: "beta.example", Name: "Beta", SiteType: "shop", CountryCode: "AT", CurrencyCode: "EUR"}},
		{event.KindItem, &contracts.Item{ItemID: 1, Name: "Item 1"}},
		{event.KindItem, &contracts.Item{ItemID: 2, Name: "Item 2"}},
		{event.KindItem, &contracts.Item{ItemID: 3, Name: "Item 3"}},
		{event.KindMandate, &contracts.Mandate{MandateID: 1, Name: "Mandate 1", Package: contracts.Package{Name: "small", MaxItems: 10}}},
		{event.KindAccount, &contracts.Account{
			AccountID: 11, MandateID: 1, LoginIdentifier: "past@example.com", PasswordHash: pastHash,
			Permissions: []contracts.Permission{contracts.ReadSites, contracts.ReadItems, contracts.ReadOrders, contracts.ReadResults, contracts.ReadFiles},
			Scope:       contracts.AccountScope{AllOrders: true, AllSites: true},
		}},
		{event.KindOrder, &contracts.Order{
			OrderID: 101, MandateID: 1, Name: "Order 1", Active: true, CreatedAt: at,
			Items: []contracts.ItemID{1, 2, 3}, Sites: []contracts.SiteKey{"alpha.example", "beta.example"},
		}},
	} {
		records.Last++
		records.Messages = append(records.Messages, event.Message{Seq: records.Last, Event: &event.Event{
			ID: fmt.Sprintf("00000000-0000-4000-9000-%012d", records.Last), Kind: r.kind, ProducedAt: at, Data: r.data,
		}})
	}
	records.First = 1
	must.Do(t, p.ApplyCatalog(t.Context(), records))
	price := int64(2500)
	if err := p.ApplyObservations(t.Context(), &event.Batch{Stream: event.StreamObservations, Epoch: epoch, First: 1, Last: 1, Messages: []event.Message{{
		Seq: 1, Stored: at, Event: &event.Event{
			ID: "00000000-0000-4000-a000-000000000001", Kind: event.KindObservations, ProducedAt: at,
			Data: &contracts.Observations{Site: "alpha.example", Observations: []contracts.Observation{{
				ItemID: 3, CapturedAt: at, Outcome: contracts.PriceObserved, Offers: []contracts.Offer{{Price: &price, CurrencyCode: "EUR", Merchant: "D"}},
			}}},
		},
	}}}); err != nil {
		t.Fatal(err)
	}
	text := must.Get(pastReads["window"](t.Context(), w.service))(t)
	type row struct {
		ItemID, Site, CapturedAt string
		Price                    *float64
	}
	var got []row
	must.Do(t, json.Unmarshal([]byte("["+text+"]"), &got))
	amount := func(v float64) *float64 { return &v }
	want := []row{
		{"3", "alpha.example", "2026-10-01T12:00:00.000Z", amount(25)},
		{"2", "alpha.example", "2026-10-01T11:00:00.000Z", nil},
		{"1", "beta.example", "2026-10-01T10:00:00.002Z", amount(21)},
		{"1", "beta.example", "2026-10-01T10:00:00.002Z", amount(22)},
		{"1", "alpha.example", "2026-10-01T10:00:00.001Z", amount(19.99)},
	}
	equals.Checkf(t, want, got, "results after the projector went on")
}
