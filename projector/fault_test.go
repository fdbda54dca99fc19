package projector_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"
)

// TestCut cuts the connection after various numbers of bytes in either
// direction: before the server has the block, and after it has written it.
func TestCut(t *testing.T) {
	effort.Full(t, "connections cut after many numbers of bytes")
	w := newWorld(t)
	x, through := proxy.Before(t, w.server.ProjectorDSN)
	w.apply(w.catalog(mandate(1, 100), mandate(2, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2}), order(2, 10, true, 0, []int{4, 5, 6}, []int{0, 1, 2})))
	w.cfg.Fence++
	w.p, w.conn = w.projector(through, w.cfg)
	w.apply(w.observations(3))
	failures := 0
	for i := range 20 {
		b := w.observations(20)
		if i%2 == 0 {
			x.Set(proxy.Up, proxy.Rule{Left: w.rnd.Int64N(40_000), Then: proxy.End})
		} else {
			x.Set(proxy.Down, proxy.Rule{Left: w.rnd.Int64N(4_000), Then: proxy.End})
		}
		if err := w.try(t.Context(), b); err != nil {
			failures++
		}
		x.Heal()
		x.Close()
		w.must(b)
	}
	w.verify()
	t.Logf("%d failures, %+v", failures, w.p.Stats())
	if failures < 15 {
		t.Errorf("only %d failures", failures)
	}
}

// TestStall holds an insert in the middle of its block. The next leader ends
// the insert and continues; the old leader is refused when it wakes up.
func TestStall(t *testing.T) {
	effort.Full(t, "a ClickHouse that stalls")
	t.Parallel() // it waits most of its time
	w := newWorld(t)
	x, through := proxy.Before(t, w.server.ProjectorDSN)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
	w.cfg.Fence++
	w.cfg.StallTimeout = 2 * time.Second
	zombie, conn := w.projector(through, w.cfg)
	must.Get(zombie.Resume(t.Context(), event.StreamObservations, made(epoch)))(t)
	b := w.observations(300)
	conn.hook(func(id string) error {
		if what(id) == "observations" {
			x.Set(proxy.Up, proxy.Rule{Left: 30_000, Then: proxy.Hold})
		}
		return nil
	})
	asleep := make(chan error, 1)
	send := func() { asleep <- zombie.ApplyObservations(t.Context(), b) }
	go send()
	for n, sent := 0, time.Now(); n == 0; time.Sleep(time.Millisecond) {
		w.scan("SELECT count() FROM system.processes WHERE query_id LIKE 'p0-%-observations-%' AND current_database = ?", []any{w.server.Database}, &n)
		if n == 0 && time.Since(sent) > 5*time.Second { // on a slow machine the server ended it before it was seen
			x.Close()
			x.Heal()
			if err := <-asleep; err == nil {
				t.Fatal("the insert was not held")
			}
			sent = time.Now()
			go send()
		}
	}
	w.cfg.Fence++
	w.p, w.conn = w.projector(w.server.ProjectorDSN, w.cfg)
	began := time.Now()
	w.apply(b)
	t.Logf("took over in %s, %+v", time.Since(began), w.p.Stats())
	w.verify()
	x.Close() // before it heals, otherwise what was held passes
	x.Heal()
	if err := <-asleep; err == nil {
		t.Error("the insert of the deposed leader succeeded")
	}
	conn.hook(nil)
	var err error
	for range 4 { // its connections were cut
		if err = zombie.ApplyObservations(t.Context(), b); errors.Is(err, projector.ErrDeposed) {
			break
		}
	}
	if !errors.Is(err, projector.ErrDeposed) {
		t.Errorf("deposed leader: %v, want ErrDeposed", err)
	}
	w.verify()
}

// asleep puts the sender to sleep before the write of that name until wake is
// closed.
func (f *faulty) asleep(name string) (reached, wake chan struct{}) {
	reached, wake = make(chan struct{}), make(chan struct{})
	f.hook(func(id string) error {
		if what(id) == name {
			close(reached)
			<-wake
		}
		return nil
	})
	return reached, wake
}

// TestZombie puts a leader to sleep before each of its writes, lets another
// take over, and wakes it.
func TestZombie(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
	for _, at := range []string{"observations", "observations_by_mandate", "latest_observations", "ingested_events", "checkpoints"} {
		zombie := w.p
		reached, wake := w.conn.asleep(at)
		b := w.observations(20)
		end := make(chan error, 1)
		go func() { end <- zombie.ApplyObservations(t.Context(), b) }()
		<-reached
		w.restart()
		w.apply(b)
		w.apply(w.observations(5))
		close(wake)
		if err := <-end; !errors.Is(err, projector.ErrDeposed) {
			t.Errorf("deposed leader: %v, want ErrDeposed", err)
		}
		if w.verify(); t.Failed() {
			t.Fatalf("asleep before %s", at)
		}
	}
}

// TestZombieDeletion wakes a deposed leader just before it deletes rows of
// revoked pairs that its successor has granted again.
func TestZombieDeletion(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
	w.apply(w.observations(60))
	zombie := w.p
	reached, wake := w.conn.asleep("delete")
	revoke := w.catalog(order(1, 10, true, 0, []int{1, 2}, []int{0, 1, 2}))
	end := make(chan error, 1)
	go func() { end <- zombie.ApplyCatalog(t.Context(), revoke) }()
	<-reached
	w.restart()
	w.apply(revoke)
	w.apply(w.catalog(order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
	w.verify()
	close(wake)
	<-end
	time.Sleep(200 * time.Millisecond)
	w.verify()
}

// TestServerKilled kills the server with SIGKILL in the middle of batches.
func TestServerKilled(t *testing.T) {
	effort.Full(t, "a ClickHouse that is killed")
	t.Parallel() // it has its own server
	cfg := embedded.ClickHouseConfig{
		Dir: filepath.Join(t.TempDir(), "clickhouse"), Database: "preismon", NoProgram: true, Grace: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	var server *embedded.ClickHouse
	begin := func() string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		server = must.Get(embedded.StartClickHouse(ctx, cfg))(t)
		return server.DSN(embedded.AdminUser, "preismon")
	}
	dsn := begin()
	defer func() { _ = server.Stop(context.Background()) }()
	must.Do(t, schema.Migrate(t.Context(), dsn, schema.Options{}))
	w := &world{t: t, server: &testserver.ClickHouseServer{Database: "preismon"}, cfg: projector.DefaultConfig(), oracle: newOracle(), rnd: newRand(3)}
	w.cfg.Logger, w.cfg.KeepScopes = cfg.Logger, 0
	connect := func() {
		t.Helper()
		w.server.ProjectorDSN = dsn
		db := must.Get(sql.Open("clickhouse", dsn))(t)
		w.db = db
		c := must.Get(clickhouse.ParseDSN(dsn))(t)
		if w.conn != nil {
			w.conn.pool = clickhouse.Open(c, 2)
		}
	}
	connect()
	w.restart()
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
	for i := range 4 { // each kind of batch under the same leader and under the next
		var b *event.Batch
		if i%2 == 0 {
			b = w.observations(40)
		} else {
			b = w.catalog(order(1, 10, true, 0, [][]int{{1, 2, 3}, {2, 3, 4, 5, 6}}[i/2%2], []int{0, 1, 2}))
		}
		timer := time.AfterFunc(time.Duration(w.rnd.IntN(60))*time.Millisecond, server.Kill)
		err := w.try(t.Context(), b)
		timer.Stop()
		server.Kill()
		_ = server.Stop(context.Background())
		dsn = begin()
		connect()
		if i >= 2 {
			w.restart()
		}
		w.must(b)
		t.Logf("kill %d: %v", i, err)
		w.verify()
	}
}

// TestEpochs resumes at the start of a stream that was recreated, and refuses
// an older stream and a leader with an older fence.
func TestEpochs(t *testing.T) {
	w := newWorld(t)
	w.restart() // fence 2
	w.apply(w.observations(3))
	for _, c := range []struct {
		epoch uint32
		want  uint64
		fails bool
	}{{epoch, 3, false}, {epoch + 1, 0, false}, {epoch - 1, 0, true}} {
		got, err := w.p.Resume(t.Context(), event.StreamObservations, made(c.epoch))
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("Resume of %d = %d, %v", c.epoch, got, err)
		}
	}
	w.cfg.Fence = 1
	old, _ := w.projector(w.server.ProjectorDSN, w.cfg)
	if _, err := old.Resume(t.Context(), event.StreamObservations, made(epoch)); !errors.Is(err, projector.ErrDeposed) {
		t.Errorf("Resume = %v, want ErrDeposed", err)
	}
}

// TestTablesGoBack sets the tables back behind a leader, as a power cut or a
// restore of an older copy does: the leader does not pass what they lost, and
// the next one reads it again.
func TestTablesGoBack(t *testing.T) {
	all := []string{
		"observations", "observations_by_mandate", "latest_observations", "ingested_events", "mandates", "orders", "scope_pairs", "scopes", "scopes_applied", "checkpoints",
	}
	for _, stream := range []string{event.StreamObservations, event.StreamCatalog} {
		t.Run(stream, func(t *testing.T) {
			w := newWorld(t)
			next := func() *event.Batch {
				if stream == event.StreamCatalog {
					return w.catalog(order(1, w.catalogSeq, true, 0, []int{int(w.catalogSeq)}, []int{0, 1, 2}))
				}
				return w.observations(10)
			}
			w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})))
			w.apply(w.observations(10))
			reached := map[string]uint64{event.StreamObservations: w.seq, event.StreamCatalog: w.catalogSeq}[stream]
			back := w.save(all...)
			lost := next()
			w.apply(lost)
			w.settle()
			back(all...)
			then := next()
			w.conn.failOnce("checkpoints", false) // as the connection of a server that ends
			if err := w.try(t.Context(), then); err == nil {
				t.Error("a write that failed was not noticed")
			}
			for range 2 {
				if err := w.try(t.Context(), then); !errors.Is(err, event.ErrGap) {
					t.Errorf("on tables that went back: %v, want ErrGap", err)
				}
			}
			if err := w.p.Maintain(t.Context()); !errors.Is(err, event.ErrGap) {
				t.Errorf("Maintain = %v, want ErrGap", err)
			}
			w.restart()
			if seq, err := w.p.Resume(t.Context(), stream, made(epoch)); err != nil || seq != reached {
				t.Errorf("the next leader resumes at %d, want %d: %v", seq, reached, err)
			}
			w.apply(lost)
			w.apply(then)
			w.verify()
		})
	}
}
