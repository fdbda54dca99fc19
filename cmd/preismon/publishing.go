package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"preismon/contracts/event"
	"preismon/ingest"
)

// watchFlags configure how publishing can be watched.
type watchFlags struct {
	AdminListen string     `help:"Address of /livez, /readyz, /metrics and pprof; without it there is none." placeholder:"HOST:PORT"`
	Traces      traceFlags `embed:""`
}

func (f watchFlags) faults() error {
	if f.AdminListen == "" {
		return f.Traces.faults()
	}
	return errors.Join(address("admin-listen", f.AdminListen), f.Traces.faults())
}

// publishing is a publisher with an admin surface.
type publishing struct {
	*ingest.Publisher
	life *lifecycle
	log  *slog.Logger
}

// open creates a publisher on the bus, and its admin surface.
func (f watchFlags) open(b *bus, log *slog.Logger) (*publishing, error) {
	l, a := newLifecycle(log), newAdmin()
	traces, err := f.Traces.start(l, a, "ingest", log)
	if err != nil {
		return nil, err
	}
	pub, err := watchedPublisher(b, a, traces, log)
	if err != nil {
		return nil, errors.Join(err, l.stop(flushLimit))
	}
	p := &publishing{pub, l, log}
	b.observe(a)
	if f.AdminListen != "" {
		listener, err := listen("admin-listen", f.AdminListen)
		if err != nil {
			p.close()
			return nil, err
		}
		a.serve(l, listener)
		log.Info("publishing can be watched", "admin", listener.Addr().String())
	}
	return p, nil
}

// close closes the publisher and its admin surface.
func (p *publishing) close() {
	p.Close()
	if err := p.life.stop(5 * time.Second); err != nil {
		p.log.Warn("not everything stopped without an error", "error", err)
	}
}

// watchedPublisher returns a publisher that is traced, and counted on the admin
// surface.
func watchedPublisher(b *bus, a *admin, traces *tracing, log *slog.Logger) (*ingest.Publisher, error) {
	metrics := newPublisherMetrics()
	pub, err := ingest.NewPublisher(b.conn, ingest.PublisherConfig{Settled: metrics.settled, Tracer: traces.tracer("ingest")}, log)
	if err != nil {
		return nil, err
	}
	metrics.observe(a, pub.Stats)
	return pub, nil
}

// appliedFlags select whether a command that publishes waits for the tables,
// and for which.
type appliedFlags struct {
	Wait       bool `help:"Wait until the projectors have written everything." default:"true" negatable:""`
	Partitions int  `help:"Number of partitions of the projectors to wait for. Needed only while projectors with different numbers of partitions read the streams." default:"0" placeholder:"N"`
}

func (f appliedFlags) faults() error {
	if f.Partitions == 0 {
		return nil
	}
	return event.CheckPartition(0, f.Partitions)
}

// wait waits for the tables, unless waiting is switched off.
func (f appliedFlags) wait(ctx context.Context, b *bus) error {
	if !f.Wait {
		return nil
	}
	if err := ingest.WaitApplied(ctx, b.js, f.Partitions); err != nil {
		return fmt.Errorf("everything is published, but not known to be in the tables yet: %w", err)
	}
	return nil
}
