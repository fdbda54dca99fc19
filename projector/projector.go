// Package projector turns events into the tables of the read model: it fans
// observations out to the mandates whose scope holds their pair, writes the
// catalogue, maintains each mandate's scope and updates observations_by_mandate
// to match it.
//
// A Projector leads one partition of the stream and is driven by the consumer
// loop, whose Sink it is. It guarantees that every event is in every table
// once, whatever fails and whenever: after a write with an unknown outcome it
// ends its older statements, reads back what is there, and writes what is
// missing. A call that failed is simply made again, with the same batch or
// other boundaries. It guarantees no order between tables: rows beyond the
// checkpoint may be incomplete.
package projector

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// Config configures a Projector.
type Config struct {
	// Partition of Partitions is the part of OBSERVATIONS that the tables hold,
	// by event.Partition. Each holds the whole catalogue and all scopes.
	Partition, Partitions int
	Fence                 uint64 // of the lease: greater with every leader

	MaxBlockRows     int           // rows of one insert into observations_by_mandate, and of one part of expired_rows
	BackfillRows     int           // rows of one backfill statement
	ExpireRows       int           // rows that one statement counts when the floor rises
	MaxOrderPairs    int           // items times sites of one active order; an order with more is rejected
	MaxMandatePairs  int           // the same over all active orders of a mandate
	StatementTimeout time.Duration // of one statement
	StallTimeout     time.Duration // the server ends an insert whose sender is silent for so long
	KillTimeout      time.Duration // within which older statements must have ended
	KeepScopes       time.Duration // a scope that is no longer in force stays readable for so long
	Readers          Readers       // are notified of checkpoints; nil: no one is
	Inserted         func(Insert)  // is called after every insert of rows, also concurrently; nil: not called
	Logger           *slog.Logger
}

// Insert is one attempt to write a block of rows to a table.
type Insert struct {
	Table string
	Rows  int // of the block; a row of observations_by_mandate is one mandate's
	Took  time.Duration
	Err   error
}

// DefaultConfig returns a configuration with everything set except the fence.
func DefaultConfig() Config {
	return Config{
		Partitions: 1, MaxBlockRows: 500_000, BackfillRows: 1_000_000, ExpireRows: 10_000_000, MaxOrderPairs: 5_000_000, MaxMandatePairs: 10_000_000, StatementTimeout: 2 * time.Minute,
		StallTimeout: 10 * time.Second, KillTimeout: time.Minute, KeepScopes: 10 * time.Minute, Logger: slog.Default(),
	}
}

// Validate returns every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	if err := event.CheckPartition(c.Partition, c.Partitions); err != nil {
		f.Addf("%w", err)
	}
	f.Check(c.Fence > 0, "fence: missing")
	f.Check(c.MaxBlockRows >= 1 && c.MaxBlockRows <= 1<<20, "maxBlockRows: %d, must be from 1 to %d", c.MaxBlockRows, 1<<20)
	f.Check(c.BackfillRows >= 1, "backfillRows: %d, must be positive", c.BackfillRows)
	f.Check(c.ExpireRows >= 1, "expireRows: %d, must be positive", c.ExpireRows)
	f.Check(c.MaxOrderPairs >= 1, "maxOrderPairs: %d, must be positive", c.MaxOrderPairs)
	f.Check(c.MaxMandatePairs >= c.MaxOrderPairs, "maxMandatePairs: %d, must be at least maxOrderPairs, %d", c.MaxMandatePairs, c.MaxOrderPairs)
	f.Check(c.StatementTimeout > 0, "statementTimeout: %s, must be positive", c.StatementTimeout)
	f.Check(c.StallTimeout >= time.Second, "stallTimeout: %s, must be at least 1s", c.StallTimeout)
	f.Check(c.KillTimeout > c.StallTimeout, "killTimeout: %s, must be longer than stallTimeout, %s", c.KillTimeout, c.StallTimeout)
	f.Check(c.KeepScopes >= 0, "keepScopes: %s, is negative", c.KeepScopes)
	f.Check(c.Logger != nil, "logger: missing")
	return f.Err()
}

// Projector leads one partition. Its methods may be called concurrently and
// wait for each other.
type Projector struct {
	cfg  Config
	conn Conn
	log  *slog.Logger
	life string // distinguishes the statements of this Projector from those of another with the same fence

	mu          sync.Mutex
	phase       phase
	begun       int64 // when it began, or began again after a write with an unknown outcome; Unix ms, see fenceOff
	tries       atomic.Uint64
	marks       map[string]position // checkpoints by stream
	noted       time.Time           // when the time of a checkpoint was last recorded; used by one batch at a time, see dispatch
	resumed     map[string]position // what Resume returned for each stream
	notices     notices             // to readers, of checkpoints
	unannounced bool                // what is in force changed since readers were notified; see announce
	proof       proof               // of the checkpoint of the observations
	proven      bool                // it counts from the first event; otherwise from the start
	carried     proof               // what stays beyond the checkpoint from epochs that ended
	floor       floor               // the capture time from which rows are kept
	raised      time.Time           // when it was raised, or read: all reads that began later see it
	removed     time.Time           // when everything below it was dropped
	refused     error               // why the floor did not rise
	refusedAt   time.Time
	uncertain   position // up to here, some tables may hold rows beyond the checkpoint

	inFlight []*pending // batches under way, in order
	failing  *pending   // the last one to fail, until the caller knows
	spare    []*block
	mandates []uint64 // those of one capture
	index    *index
	sites    *sites
	orders   map[uint64]map[uint64]*order // by mandate, then order
	packages map[uint64]itemPackage       // by mandate
	logins   logins                       // who may log in, with what
	views    map[uint64]*view             // what is published, by mandate
	outdated map[uint64]struct{}          // mandates whose scope must be checked
	stale    []staleScope
	loading  bool // more of the catalogue is pending: scopes wait too
	swept    time.Time

	statsMu sync.Mutex
	stats   Stats
}

// New returns a Projector. It sends the server nothing before its first call.
func New(cfg Config, conn Conn) (*Projector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Projector{
		resumed: map[string]position{}, notices: notices{readers: cfg.Readers, written: event.Marks{}}, cfg: cfg, conn: conn, log: cfg.Logger, life: strconv.FormatUint(uint64(rand.Uint32()), 36) + ".",
	}, nil
}

// Check checks that the server can be reached, has this program's schema, and
// holds this partition's tables: see package schema, and ErrOtherPartition.
func (p *Projector) Check(ctx context.Context) error {
	return CheckTables(ctx, p.conn, p.cfg.Partition, p.cfg.Partitions)
}

// Resume returns the last sequence of the stream that is applied and that the
// stream still has; 0 when the stream was recreated. The catalogue needs no
// replay either: what the scopes are derived from is read back from the tables.
func (p *Projector) Resume(ctx context.Context, stream string, now event.Incarnation) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.quiesce(ctx); err != nil {
		return 0, err
	}
	mark := p.marks[stream]
	if mark.epoch > now.Epoch {
		return 0, fmt.Errorf("stream %s of %d is older than the one applied, of %d: the stream was restored from an old copy, or the tables belong to another stream",
			stream, now.Epoch, mark.epoch)
	}
	if stream == event.StreamObservations && now.Epoch > mark.epoch {
		if err := p.removeOrphans(ctx, now.Epoch-1); err != nil {
			return 0, err
		}
		if err := p.carry(ctx, now.Epoch); err != nil {
			return 0, err
		}
	}
	from := position{now.Epoch, now.Same(mark.epoch, mark.seq)}
	p.resumed[stream] = from
	return from.seq, nil
}

// follows returns event.ErrGap for a batch that begins beyond the end of the
// one before it: the checkpoint would pass what is in between, which would then
// be missing.
func (p *Projector) follows(b *event.Batch) error {
	end := p.reached(b.Stream)
	if end.epoch < b.Epoch {
		end = p.resumed[b.Stream]
	}
	if end.epoch < b.Epoch { // nothing is known of this epoch
		end = position{b.Epoch, 0}
	}
	if end.epoch == b.Epoch && b.First > end.seq+1 {
		return fmt.Errorf("%w: %s from %d to %d of epoch %d, behind %d", event.ErrGap, b.Stream, b.First, b.Last, b.Epoch, end.seq)
	}
	return nil
}

// Taken returns what the tables hold of a range of sequences: for OBSERVATIONS
// the ids of the ingested events, for CATALOG the subjects of the records in
// force. Events under way may be missing.
func (p *Projector) Taken(ctx context.Context, stream string, epoch uint32, first, last uint64) (map[uint64]string, error) {
	taken := map[uint64]string{}
	if stream == event.StreamCatalog {
		return taken, recordsIn(p.asking(ctx), position{epoch, first}, position{epoch, last}, func(at position, subject string) {
			taken[at.seq] = subject
		})
	}
	var seq uint64
	var id uuid.UUID
	return taken, p.read(ctx, "taken_events", args{"epoch": epoch, "first": first, "last": last}, clickhouse.Row{"seq": &seq, "event_id": &id}, func() {
		taken[seq] = id.String()
	})
}

// start raises the fence, ends the statements that older leaders still run, and
// reads where they stopped.
func (p *Projector) start(ctx context.Context) error {
	p.unannounced = true // perhaps changed by the previous leader
	return inOrder(ctx, p.Check, p.fenceOff, p.loadMarks, p.loadCatalog, p.loadLogins, p.loadViews, p.announce)
}

// loadMarks reads the checkpoints, and how far beyond that of the observations
// any table goes.
func (p *Projector) loadMarks(ctx context.Context) (err error) {
	if p.marks, err = p.readMarks(ctx); err != nil {
		return err
	}
	p.notices.reset(p.marks)
	if err := p.loadProof(ctx); err != nil {
		return err
	}
	mark := p.marks[event.StreamObservations]
	return p.read(ctx, "tail", args{"epoch": mark.epoch, "seq": mark.seq}, clickhouse.Row{"epoch": &p.uncertain.epoch, "seq": &p.uncertain.seq}, nil)
}

// readMarks reads the checkpoints.
func (p *Projector) readMarks(ctx context.Context) (map[string]position, error) {
	var (
		marks  = map[string]position{}
		stream string
		at     position
	)
	return marks, p.read(ctx, "checkpoints", args{"partition": p.cfg.Partition}, clickhouse.Row{"stream": &stream, "epoch": &at.epoch, "seq": &at.seq}, func() {
		marks[stream] = at
	})
}

// holdMarks returns event.ErrGap where a checkpoint of the tables is behind the
// one that was written: the server lost its last parts in a power cut, or older
// tables were restored. What is in between must be read from the stream again.
func (p *Projector) holdMarks(ctx context.Context) error {
	are, err := p.readMarks(ctx)
	if err != nil {
		return err
	}
	for stream, mark := range p.marks {
		if is := are[stream]; mark.after(is) {
			return fmt.Errorf("%w: the tables went back, the checkpoint of %s from %d of epoch %d to %d of epoch %d", event.ErrGap, stream, mark.seq, mark.epoch, is.seq, is.epoch)
		}
	}
	return nil
}

// advance writes the checkpoint at the end of the batch.
func (p *Projector) advance(ctx context.Context, b *event.Batch) error {
	to := position{b.Epoch, b.Last}
	if !to.after(p.marks[b.Stream]) {
		return nil
	}
	if err := p.checkpoint(ctx, b.Stream, attested{at: to}, nil); err != nil {
		return err
	}
	p.marks[b.Stream] = to
	if b.Stream == event.StreamCatalog {
		p.unannounced = false // this checkpoint notifies readers, too
	}
	return nil
}

// noteEvery is how often the time of a checkpoint of the observations is
// recorded.
const noteEvery = time.Second

// noteTime records when the last checkpoint of the observations was written, unless
// that of another was recorded less than noteEvery ago.
func (p *Projector) noteTime(ctx context.Context, stream string) error {
	if stream != event.StreamObservations || !p.noted.IsZero() && time.Since(p.noted) < noteEvery {
		return nil
	}
	if err := p.insert(ctx, "checkpoint_times", nil, nil, nil); err != nil {
		return err
	}
	p.noted = time.Now()
	return nil
}

// checkpoint writes a checkpoint. arrived is what it makes visible; nil: nothing,
// or it is not known.
func (p *Projector) checkpoint(ctx context.Context, stream string, to attested, arrived *arrivals) error {
	if err := p.noteTime(ctx, stream); err != nil {
		return err
	}
	if !to.proven {
		to.proof = proof{}
	}
	if err := p.notices.begin(ctx); err != nil {
		return err
	}
	err := p.insert(ctx, "checkpoints", args{
		"stream": stream, "partitions": p.cfg.Partitions, "epoch": to.at.epoch, "seq": to.at.seq, "proven": to.proven,
		"events": to.proof.events.n, "events_sum": to.proof.events.sum, "rows": to.proof.rows.n, "rows_sum": to.proof.rows.sum, "floor": to.floor,
	}, nil, nil)
	p.notices.end(stream, to.at, arrived, err)
	return err
}
