package projector

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// AuditStreams is what an audit reads from the streams.
type AuditStreams interface {
	State(ctx context.Context, stream string) (event.StreamState, error)
	At(ctx context.Context, stream string, seq uint64) (m event.Stored, ok bool, err error)
	Read(ctx context.Context, r event.ReadRequest) iter.Seq2[event.Stored, error]
}

// AuditConfig configures what is compared, and how.
type AuditConfig struct {
	// Partition of Partitions is the part of OBSERVATIONS that the tables hold.
	Partition, Partitions int

	Conn             Conn
	Streams          AuditStreams
	Content          bool          // also read every event again and compare its content with its rows
	Background       bool          // give way to other users of the server: one thread, at low priority
	SliceRows        int           // rows of observations that are compared at once; bounds the memory of the server
	StatementTimeout time.Duration // of one statement
	Progress         func(AuditProgress)
}

// DefaultAuditConfig returns a configuration with everything set except the
// connections.
func DefaultAuditConfig() AuditConfig {
	return AuditConfig{
		Partitions: 1, SliceRows: 5_000_000, StatementTimeout: 10 * time.Minute, Progress: func(AuditProgress) {},
	}
}

// Validate returns every fault of the configuration.
func (c AuditConfig) Validate() error {
	var f contracts.Faults
	if err := event.CheckPartition(c.Partition, c.Partitions); err != nil {
		f.Addf("%w", err)
	}
	f.Check(c.Conn != nil, "conn: missing")
	f.Check(c.Streams != nil, "streams: missing")
	f.Check(c.SliceRows >= 1, "sliceRows: %d, must be positive", c.SliceRows)
	f.Check(c.StatementTimeout > 0, "statementTimeout: %s, must be positive", c.StatementTimeout)
	f.Check(c.Progress != nil, "progress: missing")
	return f.Err()
}

// AuditProgress is how far an audit has come.
type AuditProgress struct {
	Step        string // what is being compared
	Done, Total uint64 // slices or messages of the step
}

// Auditor compares the streams, the dead letters and the tables up to the
// checkpoint. Up to there nothing changes any more, except scopes, so it may
// run in any process while the projector runs, and needs only read rights. It
// reads whole tables: hourly is often enough.
type Auditor struct {
	cfg   AuditConfig
	mark  map[string]position // checkpoints when the audit began
	out   *Audit
	found findings

	was     attested  // the proof of the checkpoint, and the floor
	refuted []Finding // what contradicts that proof

	wrong map[position]struct{} // positions whose rows in observations are not what they should be
}

// NewAuditor returns an audit, to be run once.
func NewAuditor(cfg AuditConfig) (*Auditor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Auditor{cfg: cfg, mark: map[string]position{}, out: &Audit{}, wrong: map[position]struct{}{}}, nil
}

// Run compares everything. An error means that the comparison could not be
// made, not that something is wrong: that is in the audit's findings.
func (a *Auditor) Run(ctx context.Context) (*Audit, error) {
	a.out.At = time.Now().UTC()
	if err := a.marks(ctx); err != nil {
		return nil, err
	}
	before, err := a.scopes(ctx)
	if err != nil {
		return nil, err
	}
	var slices []slice
	if err := inOrder(ctx, a.proof, a.totals,
		func(ctx context.Context) (err error) { slices, err = a.cut(ctx); return err },
		a.events,
		func(ctx context.Context) error { return a.observations(ctx, slices) },
		func(ctx context.Context) error { return a.byMandate(ctx, slices, before) },
		a.latest, a.gaps, a.catalog,
		func(ctx context.Context) error { return a.content(ctx, slices) },
		func(ctx context.Context) error { a.unexplained(); return a.unmoved(ctx) },
	); err != nil {
		return nil, err
	}
	a.out.Seconds = time.Since(a.out.At).Seconds()
	a.out.Findings = a.found.close()
	if a.out.SkippedScope == nil {
		a.out.SkippedScope = []string{}
	}
	return a.out, nil
}

// marks reads the checkpoints: what is beyond them is not judged.
func (a *Auditor) marks(ctx context.Context) error {
	var stream string
	var at position
	err := a.read(ctx, "checkpoints", args{"partition": a.cfg.Partition}, clickhouse.Row{"stream": &stream, "epoch": &at.epoch, "seq": &at.seq}, func() {
		a.mark[stream] = at
	})
	if ch.IsErr(err, proto.ErrUnknownTable, proto.ErrUnknownDatabase) {
		return errors.New("there are no tables to audit in this database: is it the right one?")
	}
	if err == nil { // with other partition numbers, there would be nothing to compare
		err = checkPartition(ctx, a.cfg.Conn, a.cfg.Partition, a.cfg.Partitions)
	}
	if err != nil {
		return err
	}
	a.was, err = readAttested(a.asking(ctx), a.cfg.Partition)
	m := a.mark[event.StreamObservations]
	a.out.Epoch, a.out.Applied = m.epoch, m.seq
	a.out.Floor = a.was.floor.time()
	return err
}

// proof compares the tables as a whole with the proof of the checkpoint.
func (a *Auditor) proof(ctx context.Context) error {
	if !a.was.proven {
		return nil
	}
	is, err := tally(a.asking(ctx), slice{position{}, a.was.at}, a.was.floor)
	if err != nil {
		return err
	}
	a.out.Proven = true
	a.refuted = a.was.refute(is)
	return nil
}

func (a *Auditor) asking(ctx context.Context) asking {
	return func(name string, values args, row clickhouse.Row, each func()) error {
		return a.read(ctx, name, values, row, each)
	}
}

// unmoved returns ErrFloorRaised if the floor was raised meanwhile: some rows
// below the new floor may have been removed before they were compared.
func (a *Auditor) unmoved(ctx context.Context) error {
	now, err := readAttested(a.asking(ctx), a.cfg.Partition)
	if err == nil && now.floor != a.was.floor {
		err = ErrFloorRaised
	}
	return err
}

// unexplained reports what the proof found wrong with events if no other check
// found out which events they are, perhaps because their messages are no longer
// in the stream.
func (a *Auditor) unexplained() {
	for _, f := range a.found.list {
		if f.Where == "ingested_events" || f.Where == "observations" || f.Where == event.StreamObservations {
			return
		}
	}
	for _, f := range a.refuted {
		a.found.find(f, f.Text)
	}
}

func (a *Auditor) upTo() args {
	m := a.mark[event.StreamObservations]
	return a.was.floor.of(args{"epoch": m.epoch, "seq": m.seq})
}

func (a *Auditor) totals(ctx context.Context) error {
	return a.read(ctx, "audit_totals", a.upTo(), clickhouse.Row{
		"events": &a.out.Events, "observations": &a.out.Rows, "by_mandate": &a.out.MandateRows, "latest": &a.out.Pairs,
	}, nil)
}

// auditSettings: nothing is written, and what does not fit into memory spills
// to the server's disk.
var auditSettings = []ch.Setting{
	ch.SettingInt("use_query_condition_cache", 0),
	ch.SettingInt("max_bytes_before_external_group_by", 1<<30),
	ch.SettingInt("max_bytes_before_external_sort", 1<<30),
	ch.SettingInt("readonly", 2),
}

// read runs a query as Projector.read does; each pair in with is a placeholder
// and its text.
func (a *Auditor) read(ctx context.Context, name string, values args, row clickhouse.Row, each func(), with ...string) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.StatementTimeout)
	defer cancel()
	settings := auditSettings
	if a.cfg.Background {
		settings = append([]ch.Setting{ch.SettingInt("max_threads", 1), ch.SettingInt("priority", 10)}, settings...)
	}
	sql := strings.NewReplacer(with...).Replace(question(name))
	return ask(ctx, a.cfg.Conn, name, ch.Query{Body: sql, Parameters: ch.Parameters(values), Settings: settings}, row, each)
}

// scopeState holds a mandate's scope in force and its applied scope.
type scopeState struct{ force, appliedVersion uint64 }

func (a *Auditor) scopes(ctx context.Context) (map[uint64]scopeState, error) {
	var mandate uint64
	var is scopeState
	all := map[uint64]scopeState{}
	return all, a.read(ctx, "audit_scopes", args{"partition": a.cfg.Partition},
		clickhouse.Row{"mandate": &mandate, "in_force": &is.force, "applied": &is.appliedVersion}, func() { all[mandate] = is })
}

// unsettled returns the mandates whose scope in force is not applied.
func unsettled(all map[uint64]scopeState) (list []uint64) {
	for m, s := range all {
		if s.force != s.appliedVersion {
			list = append(list, m)
		}
	}
	slices.Sort(list)
	return list
}
