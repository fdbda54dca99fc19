package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"
	"preismon/projector/rebuild"
	"preismon/projector/schema"

	"github.com/alecthomas/kong"
)

type rebuildCmd struct {
	roleFlags
	NATS       natsFlags      `embed:""`
	ClickHouse secret         `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of an administrator." placeholder:"DSN"`
	DataDir    string         `help:"Folder of a running \"preismon up\", instead of --nats-url and --clickhouse-dsn." type:"path" placeholder:"DIR"`
	Share      partitionFlags `embed:""`
	Pairs      pairFlags      `embed:""`
	Content    bool           `help:"Compare every column with the events before the switch, as \"preismon audit --content\" does."`
	Table      string         `help:"Rebuild this table and leave the others: observations_by_mandate or latest_observations." enum:",observations_by_mandate,latest_observations" default:"" placeholder:"NAME"`
	KeepOld    bool           `help:"Keep the old tables, in the database whose name has _old appended, which must not exist yet."`
}

// addresses returns where the servers are.
func (c *rebuildCmd) addresses(log *slog.Logger) (ingest.Config, contracts.Secret, error) {
	nats, dsn := c.NATS.config("rebuild", log), c.ClickHouse.Secret
	if c.DataDir == "" {
		ch, err := parseDSN(dsn)
		return nats, dsn, errors.Join(nats.Validate(), err, checkOneServer(ch))
	}
	if nats.URL != "" || dsn != "" {
		return nats, dsn, errNotBoth
	}
	r, err := embedded.ReadRuntime(c.DataDir)
	nats.URL = r.NATSURL
	return nats, contracts.Secret(r.AdminDSN), err
}

func (c *rebuildCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	nats, dsn, err := c.addresses(log)
	if done, err := c.only(k, std.out, faulty(err, c.Share.faults(), c.Pairs.faults())); done {
		return err
	}
	b, err := connect(nats)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	r, err := newRebuilding(dsn, b, std, log)
	if err != nil {
		return err
	}
	defer r.close()
	r.table, r.share, r.pairs = c.Table, c.Share, c.Pairs
	start := time.Now()
	if err := r.run(ctx, c.Content, c.KeepOld); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%w; run it again to start over, nothing is lost", err)
	}
	if c.KeepOld {
		if err := rebuild.Keep(context.WithoutCancel(ctx), r.admin, r.database); err != nil {
			return err
		}
	}
	what := "All tables were"
	if c.Table != "" {
		what = "Table " + c.Table + " was"
	}
	_, err = fmt.Fprintf(std.out, "%s rebuilt in %.1f s; for the switch the projector stood still for %.1f s.\n", what, time.Since(start).Seconds(), r.still.Seconds())
	return err
}

// rebuilding is one rebuild.
type rebuilding struct {
	bus      *bus
	std      streams
	log      *slog.Logger
	database string
	table    string // the only one to build; empty: all
	share    partitionFlags
	pairs    pairFlags
	newDSN   contracts.Secret // DSN of the database for the new tables
	admin    *clickhouse.Pool
	old, new *clickhouse.Pool
	still    time.Duration // for how long the old tables were not written to
}

func newRebuilding(dsn contracts.Secret, b *bus, std streams, log *slog.Logger) (*rebuilding, error) {
	cfg, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(dsn.Reveal())
	if err != nil {
		return nil, errors.New("clickhouse-dsn: not an address")
	}
	r := &rebuilding{bus: b, std: std, log: log, database: cfg.Database}
	added := cfg
	added.Database = rebuild.NewDatabase(cfg.Database)
	u.Path = "/" + added.Database
	r.newDSN = contracts.Secret(u.String())
	r.admin, r.old, r.new = clickhouse.Open(cfg, 1), clickhouse.Open(cfg, projectorConnections), clickhouse.Open(added, projectorConnections)
	return r, nil
}

func (r *rebuilding) close() {
	for _, p := range []*clickhouse.Pool{r.admin, r.old, r.new} {
		_ = p.Close() // nothing is left to say
	}
}

// newConsumer returns the name of the durable consumers of the new tables.
func (r *rebuilding) newConsumer() string {
	return ingest.RebuildConsumer(r.share.Partition, r.share.Partitions)
}

func (r *rebuilding) run(ctx context.Context, content, keepOld bool) error {
	history := ingest.NewHistory(r.bus.js)
	observations, err := history.State(ctx, event.StreamObservations)
	if err != nil {
		return err
	}
	catalog, err := history.State(ctx, event.StreamCatalog)
	if err != nil {
		return err
	}
	if err := projector.CheckTables(ctx, r.admin, r.share.Partition, r.share.Partitions); err != nil {
		return err
	}
	if err := rebuild.CheckPlain(ctx, r.admin, r.database); err != nil {
		return err
	}
	if keepOld {
		if err := rebuild.CheckKeep(ctx, r.admin, r.database); err != nil {
			return err
		}
	}
	if r.table == "" {
		if err := rebuild.Check(ctx, r.admin, r.database, observations, catalog); err != nil {
			return err
		}
	}
	if err := rebuild.Drop(ctx, r.admin, r.database); err != nil {
		return err
	}
	if err := schema.Migrate(ctx, r.newDSN.Reveal(), schema.Options{}); err != nil {
		return err
	}
	if r.table != "" {
		err = r.clone(ctx)
	} else {
		err = errors.Join(rebuild.KeepAccounts(ctx, r.admin, r.database), rebuild.KeepFloor(ctx, r.admin, r.database))
	}
	if err != nil {
		return err
	}
	defer r.forget(ctx)
	fresh, err := r.drive(ctx, r.new, 1, ingest.ConsumerConfig{Name: r.newConsumer(), SkipPoison: true})
	if err != nil {
		return err
	}
	defer func() { _ = fresh.stop() }()
	if err := r.follow(ctx, fresh, observations.Last); err != nil {
		return err
	}
	if err := r.audit(ctx, content); err != nil {
		return err
	}
	if err := r.asLeader(ctx, func(ctx context.Context, fence uint64) error { return r.switchOver(ctx, fence, &fresh) }); err != nil {
		return err // and nothing is dropped
	}
	if keepOld {
		return nil
	}
	return rebuild.Drop(ctx, r.admin, r.database)
}

// asLeader takes the lease and calls lead, once: after losing the lease it must
// not wait for it again as a standby does.
func (r *rebuilding) asLeader(ctx context.Context, lead func(ctx context.Context, fence uint64) error) error {
	lease, err := ingest.NewLease(ingest.LeaseConfig{Key: ingest.ProjectorLease(r.share.Partition, r.share.Partitions), Force: true}, r.bus.js, r.log)
	if err != nil {
		return err
	}
	once, end := context.WithCancel(ctx)
	defer end()
	var result error
	err = lease.RunAsLeader(once, func(ctx context.Context, fence uint64) error {
		defer end()
		result = lead(ctx, fence)
		return nil
	})
	return errors.Join(err, result, ctx.Err())
}

// clone copies the existing tables into the new database, except the one to
// rebuild, and fills that one as far as no projector does.
func (r *rebuilding) clone(ctx context.Context) error {
	if err := rebuild.Clone(ctx, r.admin, r.database, r.table); err != nil {
		return err
	}
	if r.table != "latest_observations" {
		return nil
	}
	const all = 1000
	show := newProgress(r.std.err, r.log, "rebuilding the table", all)
	defer show.end()
	return rebuild.FillLatest(ctx, r.admin, r.database, func(done float64) { show.at(int64(done * all)) })
}

// follow shows the progress of the new tables until they are complete.
func (r *rebuilding) follow(ctx context.Context, d *driven, end uint64) error {
	show := newProgress(r.std.err, r.log, "rebuilding the tables", int64(end))
	defer show.end()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	caught := make(chan error, 1)
	go func() { caught <- r.caughtUp(ctx, d) }()
	for {
		select {
		case err := <-caught:
			if err != nil {
				return err
			}
			return d.projector.Maintain(ctx) // scopes, even if no message came
		case <-tick.C:
			show.at(int64(min(d.consumer.Progress().Observations.Applied, end)))
		}
	}
}

// audit compares the new tables with the streams before they are used.
func (r *rebuilding) audit(ctx context.Context, content bool) error {
	cfg := projector.DefaultAuditConfig()
	cfg.Partition, cfg.Partitions = r.share.Partition, r.share.Partitions
	cfg.Conn, cfg.Streams, cfg.Content = r.new, ingest.NewHistory(r.bus.js), content
	audit, err := auditAloud(ctx, cfg, r.std, r.log)
	if err != nil {
		return err
	}
	others := 0
	for _, f := range audit.Findings {
		if r.table == "" || f.Where == r.table {
			return fmt.Errorf("the new tables are wrong, and were not put in place: %s", f.Text)
		}
		others++
	}
	if others > 0 {
		_, err = fmt.Fprintf(r.std.err, "Other tables have %d findings of an audit: preismon audit shows them.\n", others)
	}
	return err
}

// switchTries bounds how often both are brought to the same position; each try
// covers what has arrived in the meantime.
const switchTries = 20

// switchOver leads the old tables until both have the same scopes and the new
// ones reach as far, and then exchanges them.
func (r *rebuilding) switchOver(ctx context.Context, fence uint64, fresh **driven) error {
	reason := ""
	for try := range switchTries {
		old, err := r.drive(ctx, r.old, fence, ingest.ConsumerConfig{})
		if err != nil {
			return err
		}
		err = r.caughtUp(ctx, old)
		began := time.Now()
		err = errors.Join(err, old.stop()) // first, so that the new ones can reach as far
		if err == nil {
			err = r.caughtUp(ctx, *fresh)
			if err == nil {
				err = errors.Join((*fresh).projector.Maintain(ctx), r.raise(ctx, (*fresh).projector))
			}
			err = errors.Join(err, (*fresh).stop())
		}
		if err != nil {
			return err
		}
		observations, err := ingest.NewHistory(r.bus.js).State(ctx, event.StreamObservations)
		if err != nil {
			return err
		}
		var ok bool
		if ok, reason, err = rebuild.Ready(ctx, r.admin, r.database, observations); err != nil {
			return err
		}
		if ok {
			err = r.exchange(ctx, fence)
			r.still = time.Since(began)
			return err
		}
		r.log.Info("the new tables are not ready yet", "try", try+1, "reason", reason)
		if *fresh, err = r.drive(ctx, r.new, 1, ingest.ConsumerConfig{Name: r.newConsumer(), SkipPoison: true}); err != nil {
			return err
		}
	}
	return fmt.Errorf("the new tables were not put in place: %s", reason)
}

// raise brings the new tables to the floor of the old ones, which may have been
// raised since they were started. Nothing else raises it meanwhile.
func (r *rebuilding) raise(ctx context.Context, fresh *projector.Projector) error {
	at, err := projector.FloorOf(ctx, r.old, r.share.Partition)
	if err != nil || at.IsZero() {
		return err
	}
	has, err := projector.FloorOf(ctx, r.new, r.share.Partition)
	if err != nil || has.Equal(at) {
		return err
	}
	return fresh.Expire(ctx, at)
}

// exchange puts the new tables in place. Meanwhile, and after a failure until a
// projector leads again, readers query the table of checkpoints.
func (r *rebuilding) exchange(ctx context.Context, fence uint64) error {
	readers, err := r.share.readers(r.bus, 0, r.log)
	if err != nil {
		return err
	}
	if err := readers.Begin(ctx); err != nil {
		return err
	}
	// Before the exchange, so that no reader of changes continues into the new
	// rows, and after it, so that none continues from the old ones.
	if err := rebuild.NextGeneration(ctx, r.admin, r.database); err != nil {
		return err
	}
	tables := rebuild.Tables
	if r.table != "" {
		tables = []string{r.table}
	}
	if err := rebuild.Exchange(ctx, r.admin, r.database, tables, fence); err != nil {
		return err
	}
	if err := rebuild.NextGeneration(context.WithoutCancel(ctx), r.admin, r.database); err != nil {
		return err
	}
	readers.End(nil, nil)
	if r.table == "" {
		return rebuild.ForgetProof(ctx, r.admin, r.database)
	}
	return nil
}

// caughtUp waits until everything published so far is applied.
func (r *rebuilding) caughtUp(ctx context.Context, d *driven) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.over, func() { cancel(errors.New("the projector ended")) })()
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		end, err := ingest.End(ctx, r.bus.js, stream)
		if err != nil {
			return err
		}
		if err := d.consumer.CaughtUp(ctx, stream, end); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the durable consumers of the new tables.
func (r *rebuilding) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		if err := r.bus.js.DeleteConsumer(ctx, stream, r.newConsumer()); err != nil {
			r.log.Debug("removing a consumer failed", "stream", stream, "error", err)
		}
	}
}
