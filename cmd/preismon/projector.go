package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"

	"github.com/alecthomas/kong"
)

type projectorCmd struct {
	roleFlags
	NATS        natsFlags     `embed:""`
	Streams     streamFlags   `embed:""`
	ClickHouse  secret        `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may write." placeholder:"DSN"`
	AdminListen string        `help:"Address of live, ready and metrics." default:"127.0.0.1:8082" placeholder:"HOST:PORT"`
	StopGrace   time.Duration `help:"How long a stop may take for what is under way." default:"30s"`
}

// Help implements kong.HelpProvider.
func (projectorCmd) Help() string {
	return `The leader of the partition consumes the streams CATALOG and OBSERVATIONS and writes the ClickHouse tables, each event once; further processes stand by. Run "preismon migrate" first.

Example:

  preismon projector --nats-url nats://nats:4222 --clickhouse-dsn @/run/secrets/projector-dsn`
}

func (c *projectorCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	nats := c.NATS.config("projector", log)
	ch, dsnErr := parseDSN(c.ClickHouse.Secret)
	if done, err := c.only(k, std.out, faulty(address("admin-listen", c.AdminListen), nats.Validate(), dsnErr)); done {
		return err
	}
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
	p, err := newProjection(ch, b, ingest.LeaseConfig{Key: ingest.ProjectorLease(0)}, log)
	if err != nil {
		return errors.Join(err, l.stop(c.StopGrace))
	}
	p.observe(a)
	l.defers("clickhouse connections", func(context.Context) error { return p.conn.Close() })
	l.run("projector", p.run)
	log.Info("projector runs", "admin", listener.Addr().String())
	return errors.Join(l.wait(ctx), l.stop(c.StopGrace))
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

// projectorConnections: the tables are written side by side.
const projectorConnections = 8

// projection is the projector role: a lease, and while it is held, the
// consumer loop with a projector as its sink.
type projection struct {
	conn  *clickhouse.Pool
	bus   *bus
	lease *ingest.Lease
	log   *slog.Logger

	led atomic.Pointer[led] // nil: standing by
}

// led is what exists while this process leads.
type led struct {
	projector *projector.Projector
	consumer  *ingest.Consumer
}

func newProjection(cfg clickhouse.Config, b *bus, leaseCfg ingest.LeaseConfig, log *slog.Logger) (*projection, error) {
	lease, err := ingest.NewLease(leaseCfg, b.js, log)
	if err != nil {
		return nil, err
	}
	return &projection{conn: clickhouse.Open(cfg, projectorConnections), bus: b, lease: lease, log: log}, nil
}

// run leads whenever the lease is held, until ctx ends.
func (p *projection) run(ctx context.Context) error {
	return p.lease.RunAsLeader(ctx, func(ctx context.Context, fence uint64) error {
		cfg := projector.DefaultConfig()
		cfg.Fence, cfg.Logger = fence, p.log
		proj, err := projector.New(cfg, p.conn)
		if err != nil {
			return err
		}
		if err := proj.Check(ctx); err != nil {
			return err
		}
		consumer, err := ingest.NewConsumer(ingest.DefaultConsumerConfig(), p.bus.js, proj, p.log)
		if err != nil {
			return err
		}
		p.led.Store(&led{proj, consumer})
		defer p.led.Store(nil)
		p.log.Info("leading", "fence", fence)
		maintained := make(chan struct{})
		maintain, stop := context.WithCancelCause(ctx)
		go func() {
			defer close(maintained)
			p.maintain(maintain, stop, proj)
		}()
		err = consumer.Run(maintain)
		if cause := context.Cause(maintain); errors.Is(cause, projector.ErrDeposed) {
			err = cause
		}
		stop(nil)
		<-maintained
		return err
	})
}

// maintainEvery is how often what the projector left for later is done.
const maintainEvery = 5 * time.Second

func (p *projection) maintain(ctx context.Context, stop context.CancelCauseFunc, proj *projector.Projector) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := proj.Maintain(ctx); errors.Is(err, projector.ErrDeposed) {
				stop(err)
			} else if err != nil && ctx.Err() == nil {
				p.log.Error("projector maintenance failed", "error", err)
			}
		}
	}
}

// caughtUp waits until everything published so far can be queried.
func (p *projection) caughtUp(ctx context.Context) error {
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		end, err := ingest.End(ctx, p.bus.js, stream)
		if err != nil {
			return err
		}
		for p.led.Load() == nil {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(10 * time.Millisecond):
			}
		}
		if err := p.led.Load().consumer.CaughtUp(ctx, stream, end); err != nil {
			return err
		}
	}
	return nil
}

// observe publishes what the role does.
func (p *projection) observe(a *admin) {
	progress := func() (pr ingest.Progress) {
		if l := p.led.Load(); l != nil {
			pr = l.consumer.Progress()
		}
		return pr
	}
	stats := func() (st projector.Stats) {
		if l := p.led.Load(); l != nil {
			st = l.projector.Stats()
		}
		return st
	}
	a.gauge("preismon_projector_leader", "1 while this process leads its partition.", func() float64 {
		if p.led.Load() != nil {
			return 1
		}
		return 0
	})
	a.gauge("preismon_projector_lag_messages", "Messages of OBSERVATIONS that are not applied yet.", func() float64 {
		pr := progress().Observations
		return float64(pr.Last - min(pr.Last, pr.Applied))
	})
	a.counter("preismon_projector_events_total", "Events applied.", func() uint64 { return progress().Events })
	a.counter("preismon_projector_rows_total", "Rows written to observations.", func() uint64 { return stats().Rows })
	a.counter("preismon_projector_fanned_rows_total", "Rows written to observations_by_mandate.", func() uint64 { return stats().FannedRows })
	a.counter("preismon_projector_dead_letters_total", "Messages put into the dead letters.", func() uint64 { return progress().Poison })
	a.counter("preismon_projector_retries_total", "Tries after a first one that failed.", func() uint64 { return progress().Retries })
	a.counter("preismon_projector_repairs_total", "Batches that were read back before they were written.", func() uint64 { return stats().Repairs })
	a.counter("preismon_projector_repaired_rows_total", "Rows that a repair found missing.", func() uint64 { return stats().RepairedRows })
	a.counter("preismon_projector_duplicate_events_total", "Events dropped because their id was ingested before.", func() uint64 { return stats().DuplicateEvents })
	a.gauge("preismon_projector_pending_deletions", "Mandates whose lost rows are still to be deleted.", func() float64 { return float64(stats().PendingDeletions) })
	a.ready("nats", func(context.Context) error {
		if !p.bus.conn.IsConnected() {
			return fmt.Errorf("not connected")
		}
		return nil
	})
}
