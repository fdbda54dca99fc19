package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"
)

const drainDatabase = extraPrefix + "drain"

// pool opens connections as the projector does.
func (r *run) pool(database string) *clickhouse.Pool {
	cfg, err := clickhouse.ParseDSN(r.world.dsn(embedded.ProjectorUser, database))
	r.failed(err)
	return clickhouse.Open(cfg, 8)
}

// emptyDrain creates a database with the catalogue and the scopes, and no rows,
// and opens connections to it.
func (r *run) emptyDrain(ctx context.Context) *clickhouse.Pool {
	r.makeDatabase(ctx, drainDatabase, r.world.copies(drainDatabase, "1", "mandates", "orders", "scope_pairs", "scopes", "scopes_applied")...)
	return r.pool(drainDatabase)
}

// measureDrain fills the stream and lets the projector drain it.
func (r *run) measureDrain(ctx context.Context) { r.withBroker(ctx, r.measureBacklog) }

func (r *run) measureBacklog(ctx context.Context, b *broker) {
	const captures = 100
	p := r.data.producer(r.Seed+1, r.data.to)
	rows := int64(0)
	for published := 0; published < r.size.drain; {
		var events []*event.Event
		for ; len(events) < 1000 && published < r.size.drain; published += captures {
			e := p.event(captures)
			for _, o := range e.Data.(*contracts.Observations).Observations {
				rows += int64(o.Rows())
			}
			events = append(events, e)
		}
		letters, err := encode(events)
		if r.failed(err) || r.failed(b.bare(ctx, letters)) {
			return
		}
	}
	end, err := ingest.End(ctx, b.js, event.StreamObservations)
	if r.failed(err) {
		return
	}
	rec := &recorder{}
	r.drain(ctx, b, end, rec) // the warm-up records the blocks
	written := map[string]int64{}
	for _, in := range rec.inserts {
		written[in.table] += int64(in.rows)
	}
	defer r.profileSelf("drain")()
	since := time.Now()
	took := func(what func(context.Context) time.Duration) task {
		return func(ctx context.Context) done { return done{rows: rows, took: what(ctx)} }
	}
	t := r.table("Draining a backlog of "+grouped(int64(r.size.drain))+" captures",
		fmt.Sprintf("%s rows of observations, %s by mandate, %s latest; the ready-made blocks are those the projector sent, unfolded, one connection a table without waiting for each other",
			grouped(written["observations"]), grouped(written["observations_by_mandate"]), grouped(written["latest_observations"])))
	series := r.compare(ctx, t, 0, r.size.drainRounds,
		contestant{"preismon projector", took(func(ctx context.Context) time.Duration { return r.drain(ctx, b, end, nil) })},
		contestant{"ready-made native blocks, no JetStream", took(func(ctx context.Context) time.Duration { return r.insertReady(ctx, rec.inserts) })},
		contestant{"bare consumer: fetch and acknowledge", took(func(ctx context.Context) time.Duration { return r.fetch(ctx, b, end) })},
	)
	t.Work = r.writeWork(ctx, since)
	r.put("drain_vs_direct_insert", "draining a backlog: speed against inserting the same ready-made blocks", "×", faster(series[0], series[1]), 0.8, false, "")
	perRow := 1e6 / float64(rows)
	r.put("cost_applied_row_projector_cpu_us", "an observation applied from a backlog: CPU of projector and NATS", "µs", exactly(series[0].CPU.Self*perRow), 0, true, "")
	r.put("cost_applied_row_clickhouse_cpu_us", "an observation applied from a backlog: CPU of ClickHouse", "µs", exactly(series[0].CPU.ClickHouse*perRow), 0, true, "")
	r.put("drain_vs_bare_fetch", "draining a backlog: speed against a consumer that only fetches and acknowledges", "×", faster(series[0], series[2]), 0, false, "")
	r.put("drain_rows_per_second", "draining a backlog, rows of observations", "rows/s", exactly(series[0].Rate()), 0, false, "")
}

// drain lets a projector write the whole stream into an empty database.
func (r *run) drain(ctx context.Context, b *broker, end uint64, rec *recorder) (took time.Duration) {
	pool := r.emptyDrain(ctx)
	defer pool.Close() //nolint:errcheck // nothing is under way
	var conn projector.Conn = pool
	if rec != nil {
		r.exec(ctx, staging(drainDatabase)...)
		rec.Conn, conn = pool, rec
	}
	proj, consumer, err := r.projector(b, conn, 1)
	if r.failed(err) {
		return 0
	}
	// The scopes are loaded before the clock starts: what is measured is the backlog.
	stream, err := b.js.Stream(ctx, event.StreamObservations)
	if r.failed(err) {
		return 0
	}
	at := uint32(stream.CachedInfo().Created.Unix())
	if r.failed(proj.ApplyObservations(ctx, &event.Batch{Stream: event.StreamObservations, Epoch: at, First: 1, Last: 0})) {
		return 0
	}
	began := time.Now()
	r.failed(consuming(ctx, consumer, func() error {
		err := consumer.CaughtUp(ctx, event.StreamObservations, end)
		took = time.Since(began)
		return err
	}))
	if s, pr := proj.Stats(), consumer.Progress(); pr.Poison > 0 || pr.Retries > 0 || s.ScopeVersions > 0 {
		r.failed(fmt.Errorf("the drain was not clean: %d poison, %d retries, %d new scopes", pr.Poison, pr.Retries, s.ScopeVersions))
	}
	return took
}

// insertReady inserts the blocks into an empty database, with one connection per
// table.
func (r *run) insertReady(ctx context.Context, inserts []insert) time.Duration {
	pool := r.emptyDrain(ctx)
	defer pool.Close() //nolint:errcheck // nothing is under way
	byTable := map[string][]insert{}
	for _, in := range inserts {
		byTable[in.table] = append(byTable[in.table], in)
	}
	var group sync.WaitGroup
	began := time.Now()
	for table, list := range byTable {
		group.Go(func() {
			for _, in := range list {
				err := pool.Do(ctx, ch.Query{Body: "INSERT INTO " + table + " " + in.input.Columns() + " VALUES", Input: in.input, Settings: in.settings})
				if err != nil {
					r.failed(fmt.Errorf("%s: %w", table, err))
				}
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// fetch reads the stream and acknowledges its messages, and does nothing else.
func (r *run) fetch(ctx context.Context, b *broker, end uint64) time.Duration {
	const name = "bench-fetch"
	if err := b.js.DeleteConsumer(ctx, event.StreamObservations, name); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		r.failed(err)
	}
	c, err := b.js.CreateConsumer(ctx, event.StreamObservations, jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10_000})
	if r.failed(err) {
		return 0
	}
	began := time.Now()
	messages, err := c.Messages(jetstream.PullMaxBytes(8 << 20)) // the server drops a client with 32 MiB waiting
	if r.failed(err) {
		return 0
	}
	defer messages.Stop()
	for range end {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if r.failed(err) || r.failed(m.Ack()) {
			return 0
		}
	}
	return time.Since(began)
}

// writeWork reads from the query log what the statements of a drain have cost,
// by what they wrote.
func (r *run) writeWork(ctx context.Context, since time.Time) (all []Work) {
	for _, row := range r.queryLog(ctx, fmt.Sprintf(`
SELECT if(startsWith(query_id, 'p0-'), 'projector: ', if(query_kind = 'Insert', 'ready-made: ', 'projector reads: '))
        || if(query_kind = 'Insert', extract(query, 'INSERT INTO (\\w+)'), extract(query, 'FROM (\\w+)')) AS what,
    count(), sum(written_rows), sum(ProfileEvents['OSCPUVirtualTimeMicroseconds']) / 1e6, sum(query_duration_ms) / 1e3
FROM system.query_log
WHERE type = 'QueryFinish' AND event_time_microseconds >= fromUnixTimestamp64Micro(%d) AND current_database = '%s' AND interface = 1
GROUP BY what HAVING sum(query_duration_ms) > 20 ORDER BY what`, since.UnixMicro(), drainDatabase)) {
		name, v := measured(row)
		all = append(all, Work{Name: name, Queries: int(v[1]), Written: v[2], CPU: v[3], Seconds: v[4]})
	}
	return all
}
