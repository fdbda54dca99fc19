package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/ingest/seqlock"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/schema"

	"github.com/alecthomas/kong"
)

type projectorCmd struct {
	roleFlags
	NATS        natsFlags      `embed:""`
	Streams     streamFlags    `embed:""`
	ClickHouse  secret         `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may write." placeholder:"DSN"`
	Share       partitionFlags `embed:""`
	AdminListen string         `help:"Address of /livez, /readyz, /metrics and pprof. Default: ${default}." default:"127.0.0.1:8082" placeholder:"HOST:PORT"`
	Traces      traceFlags     `embed:""`
	AuditEvery  time.Duration  `help:"How often the leader compares streams and tables, as \"preismon audit\" does; 0: never." default:"1h"`
	Pairs       pairFlags      `embed:""`
	Batches     batchFlags     `embed:""`
	Retention   retentionFlags `embed:""`
	LeaseTTL    time.Duration  `name:"lease-ttl" help:"How long a leader may be silent before another takes over. Use the same value for all projectors." default:"10s"`
	StopGrace   time.Duration  `help:"How long a stop waits for work in progress." default:"30s"`
}

func (c *projectorCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	nats := c.NATS.config("projector", log)
	lease := ingest.LeaseConfig{Key: ingest.ProjectorLease(c.Share.Partition, c.Share.Partitions), TTL: c.LeaseTTL, Replicas: c.Streams.Replicas}
	ch, dsnErr := parseDSN(c.ClickHouse.Secret)
	if done, err := c.only(k, std.out, faulty(address("admin-listen", c.AdminListen), nats.Validate(), dsnErr, checkOneServer(ch), auditEvery(c.AuditEvery), lease.Validate(), c.Share.faults(), c.Pairs.faults(), c.Batches.faults(), c.Retention.faults(), c.Traces.faults())); done {
		return err
	}
	collectFrom(projectorMemory)
	b, err := connect(nats)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	if err := ingest.EnsureStreams(ctx, b.js, ingest.StreamConfig{Replicas: c.Streams.Replicas}); err != nil {
		return err
	}
	listener, err := listen("admin-listen", c.AdminListen)
	if err != nil {
		return err
	}
	l, a := newLifecycle(log), newAdmin()
	a.serve(l, listener)
	b.observe(a)
	traces, err := c.Traces.start(l, a, "projector", log)
	if err != nil {
		return errors.Join(err, l.stop(c.StopGrace))
	}
	p, err := newProjection(ch, b, lease, c.AuditEvery, log)
	if err != nil {
		return errors.Join(err, l.stop(c.StopGrace))
	}
	p.traces, p.share, p.pairs, p.batches, p.retention, p.keepRows = traces, c.Share, c.Pairs, c.Batches, c.Retention.retention(), c.Retention.rows()
	p.observe(a)
	l.defers("clickhouse connections", func(context.Context) error { return p.close() })
	l.run("projector", p.run)
	log.Info("projector runs", "admin", listener.Addr().String())
	return errors.Join(l.wait(ctx), l.stop(c.StopGrace))
}

// projectorMemory is the memory use from which on garbage is collected more
// often, instead of letting the heap grow to twice what is in use. GOMEMLIMIT
// replaces it.
const projectorMemory = 320 << 20

// collectFrom sets the memory use from which on garbage is collected more often,
// unless GOMEMLIMIT does.
func collectFrom(bytes int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}

func parseDSN(dsn contracts.Secret) (clickhouse.Config, error) {
	if dsn == "" {
		return clickhouse.Config{}, errors.New("clickhouse-dsn: missing")
	}
	if err := checkDSN(dsn); err != nil {
		return clickhouse.Config{}, err
	}
	return clickhouse.ParseDSN(dsn.Reveal())
}

// projectorConnections is more than one because tables are written in parallel.
const projectorConnections = 8

// projection is the projector role: a lease and, while it is held, the consumer
// loop with a projector as its sink.
type projection struct {
	conn    *clickhouse.Pool
	probe   *clickhouse.Pool // for /readyz, which does not wait for other statements
	bus     *bus
	lease   *ingest.Lease
	log     *slog.Logger
	share   partitionFlags
	pairs   pairFlags
	batches batchFlags

	replicas  int // of the stream that notifies readers of checkpoints; 0: one
	retention ingest.Retention
	keepRows  keptRows // zero: for ever

	metrics    *projectorMetrics
	traces     *tracing
	auditEvery time.Duration // 0: never

	led     atomic.Pointer[led]             // nil: standing by
	audited atomic.Pointer[audited]         // nil: not yet
	proved  atomic.Pointer[projector.Proof] // nil: not yet
}

// led is what exists while this process leads.
type led struct {
	projector *projector.Projector
	consumer  *ingest.Consumer
	since     time.Time
	over      context.Context // ends with the term
}

func newProjection(cfg clickhouse.Config, b *bus, leaseCfg ingest.LeaseConfig, auditEvery time.Duration, log *slog.Logger) (*projection, error) {
	p := &projection{
		conn: clickhouse.Open(cfg, projectorConnections), probe: clickhouse.Open(cfg, 1), bus: b, log: log, replicas: leaseCfg.Replicas, metrics: newProjectorMetrics(), auditEvery: auditEvery,
		share: partitionFlags{Partitions: 1},
	}
	leaseCfg.Newest = func(ctx context.Context) (uint64, error) {
		return projector.NewestFence(ctx, p.conn, p.share.Partition)
	}
	var err error
	p.lease, err = ingest.NewLease(leaseCfg, b.js, log)
	return p, err
}

func (p *projection) close() error { return errors.Join(p.conn.Close(), p.probe.Close()) }

// run leads whenever the lease is held, until ctx ends or the tables turn out to
// be ones that this program must not write.
func (p *projection) run(ctx context.Context) error {
	for {
		if err := p.awaitTables(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		err := p.lease.RunAsLeader(ctx, p.lead)
		if !errors.Is(err, errTablesAway) && !errors.Is(err, schema.ErrNotMigrated) && !errors.Is(err, event.ErrForked) && !errors.Is(err, event.ErrGap) {
			return err
		}
		p.log.Warn("lease given back", "error", err)
	}
}

// lead is one term. It checks the tables again before anything else: since they
// were awaited, much time may have passed in standby.
func (p *projection) lead(ctx context.Context, fence uint64) error {
	if err := p.checkTables(ctx); err != nil {
		return err
	}
	cfg := projector.DefaultConfig()
	cfg.Partition, cfg.Partitions = p.share.Partition, p.share.Partitions
	cfg.Fence, cfg.Logger, cfg.Inserted = fence, p.log, p.metrics.inserted
	var err error
	if cfg.Readers, err = p.share.readers(p.bus, p.replicas, p.log); err != nil {
		return err
	}
	p.pairs.set(&cfg)
	proj, err := projector.New(cfg, p.conn)
	if err != nil {
		return err
	}
	consumer, err := ingest.NewConsumer(ingest.ConsumerConfig{
		Partition: p.share.Partition, Partitions: p.share.Partitions, Linger: p.batches.Linger, Tracer: p.traces.tracer("ingest"),
	}, p.bus.js, proj, p.log)
	if err != nil {
		return err
	}
	over, ended := context.WithCancel(context.Background())
	defer ended() // after the term is removed below
	p.led.Store(&led{proj, consumer, time.Now(), over})
	defer p.led.Store(nil)
	defer p.audited.Store(nil) // what a later leader repairs is not found here for ever
	p.log.Info("leading", "partition", p.share.Partition, "partitions", p.share.Partitions, "fence", fence)
	var tasks sync.WaitGroup
	maintain, stop := context.WithCancelCause(ctx)
	tasks.Go(func() { p.maintain(maintain, stop, proj) })
	tasks.Go(func() { p.prove(maintain, proj) })
	tasks.Go(func() { p.audits(maintain) })
	tasks.Go(func() { p.retain(maintain) })
	tasks.Go(func() { p.renewLetters(maintain) })
	tasks.Go(func() { p.expire(maintain, proj) })
	err = consumer.Run(maintain) // also returns why maintain was stopped
	stop(nil)
	tasks.Wait()
	return err
}

// How often the work that the projector has deferred is done; soon while a grant
// waits for it.
const (
	maintainEvery = 5 * time.Second
	maintainSoon  = 500 * time.Millisecond
)

func (p *projection) maintain(ctx context.Context, stop context.CancelCauseFunc, proj *projector.Projector) {
	last := time.Now()
	every(ctx, maintainSoon, func() (more bool) {
		if time.Since(last) < maintainEvery && proj.Stats().WaitingGrants == 0 {
			return true
		}
		last = time.Now()
		if err := proj.Maintain(ctx); errors.Is(err, event.ErrDeposed) || errors.Is(err, event.ErrRefused) || errors.Is(err, event.ErrGap) {
			stop(err)
		} else if err != nil && ctx.Err() == nil {
			p.log.Error("projector maintenance failed", "error", err)
		}
		return true
	})
}

// caughtUp waits until everything published so far can be queried, over as many
// terms as that takes.
func (p *projection) caughtUp(ctx context.Context) error {
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		for {
			l, err := p.leads(ctx)
			if err != nil {
				return err
			}
			end, err := ingest.End(ctx, p.bus.js, stream) // of each term: the stream may have lost its tail
			if err != nil {
				return err
			}
			if err = l.caughtUp(ctx, stream, end); err == nil {
				break
			}
			if l.over.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// leads waits until this process leads.
func (p *projection) leads(ctx context.Context) (*led, error) {
	for {
		if l := p.led.Load(); l != nil {
			return l, nil
		}
		if err := client.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// caughtUp waits until the stream is applied up to seq. It fails when the term
// ends.
func (l *led) caughtUp(ctx context.Context, stream string, seq uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.over, cancel)()
	return l.consumer.CaughtUp(ctx, stream, seq)
}

// batchFlags say what a batch waits for.
type batchFlags struct {
	Linger time.Duration `help:"How long events wait for others before a batch of them is applied. Longer saves ClickHouse work, shorter makes rows visible sooner." default:"100ms"`
}

// maxLinger keeps rows from being late for no gain: by then a batch costs little
// for what it holds.
const maxLinger = 10 * time.Second

func (f batchFlags) faults() error {
	if f.Linger <= 0 || f.Linger > maxLinger {
		return fmt.Errorf("linger: %s, must be more than 0 and at most %s", f.Linger, maxLinger)
	}
	return nil
}

// pairFlags bound what one record of the catalogue may cost the projectors.
type pairFlags struct {
	Order   int `name:"max-order-pairs" help:"Maximum number of pairs (items times sites) of one active order; one with more becomes a dead letter. Use the same value for all projectors." default:"5000000"`
	Mandate int `name:"max-mandate-pairs" help:"Maximum number of pairs of all active orders of a mandate together, within its package. Use the same value for all projectors." default:"10000000"`
}

func (f pairFlags) faults() error {
	switch {
	case f.Order < 1:
		return errors.New("max-order-pairs: must be positive")
	case f.Mandate < f.Order:
		return errors.New("max-mandate-pairs: must be at least max-order-pairs")
	}
	return nil
}

func (f pairFlags) set(c *projector.Config) { c.MaxOrderPairs, c.MaxMandatePairs = f.Order, f.Mandate }

// partitionFlags select which share of the observations the tables have.
type partitionFlags struct {
	Partition  int `help:"Partition of OBSERVATIONS that is in the tables, counted from 0. Each partition has its own ClickHouse." default:"0" placeholder:"P"`
	Partitions int `help:"Number of partitions. It cannot be changed once tables have been written." default:"1" placeholder:"N"`
}

func (f partitionFlags) faults() error { return event.CheckPartition(f.Partition, f.Partitions) }

// readers returns the readers of the partition's tables, which are notified of
// its checkpoints during one term of a leader.
func (f partitionFlags) readers(b *bus, replicas int, log *slog.Logger) (projector.Readers, error) {
	return seqlock.NewWriter(seqlock.Config{Partitions: f.Partitions, Replicas: replicas}, b.js, f.Partition, log)
}
