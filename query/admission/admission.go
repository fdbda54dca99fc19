// Package admission owns what a node may spend on reads: memory of reads under
// way, statements at once, processors. A read is charged before it reads and
// gives back what its client has taken; what is held for a client that takes
// nothing may be reclaimed for others, and is read again when it goes on.
//
// No account can have all of it: its share shrinks as others come. A read that
// finds no room within Config.Wait is refused: as RateLimited where its own
// account has its share, else as Unavailable. Nothing is kept between processes.
package admission

import (
	"context"
	"runtime"
	"sync"
	"time"

	"preismon/contracts"
)

// Config is what a node may spend.
type Config struct {
	// Memory is how many bytes reads under way may hold, together.
	Memory int64
	// Statements bounds the statements for observations that run at once, and
	// those for records of the catalogue beside them.
	Statements int
	// Wait is how long a read waits for room, or for a statement, before it is
	// refused.
	Wait time.Duration
}

// Defaults suits a node with a few dozen concurrent readers.
func Defaults() Config {
	return Config{Memory: 256 << 20, Statements: 32, Wait: 10 * time.Second}
}

// MinMemory is the least that a node can work with: room for a few small reads
// beside one large one.
const MinMemory = 32 << 20

// Validate names every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.Memory >= MinMemory, "read-memory: %d bytes, at least %d", c.Memory, int64(MinMemory))
	f.Check(c.Statements >= 2, "read-statements: less than 2")
	f.Check(c.Wait > 0, "read-wait: not positive")
	return f.Err()
}

// Node is what one process may spend. Its methods may be called side by side.
type Node struct {
	cfg        Config
	processors chan struct{}
	rows       statements
	records    statements

	mu       sync.Mutex
	used     [classes]int64
	accounts map[contracts.AccountID]*account
	busy     int64               // of these hold memory, or wait
	lines    [classes][]*account // those with charges that wait
	waiting  int                 // charges
	lent     map[*Room]struct{}
	// reclaiming goes off as long as anybody waits.
	reclaiming *time.Timer
	counts     counts
}

// New makes a node of a valid configuration.
func New(cfg Config) *Node {
	processors := runtime.GOMAXPROCS(0)
	// Streams read no more at once than the processors can work on: more only
	// fills memory. They never have all statements, so that pages find one.
	long := min(max(4, 2*processors), max(1, cfg.Statements*3/4))
	n := &Node{
		cfg: cfg, processors: make(chan struct{}, processors),
		accounts: map[contracts.AccountID]*account{}, lent: map[*Room]struct{}{},
	}
	n.reclaiming = time.AfterFunc(time.Hour, n.reclaimNow)
	n.reclaiming.Stop()
	n.rows = statements{node: n, most: cfg.Statements, mostLong: long}
	n.records = statements{node: n, most: cfg.Statements, mostLong: cfg.Statements}
	return n
}

// Work runs what needs nothing but a processor, such as encoding rows, when as
// many such pieces as there are processors allow it. Processors are given in
// slices of ten milliseconds to whoever can use one: with dozens of streams in
// line a page, which needs one for a moment and often, would wait for all of
// them each time. The work must wait for nothing.
func (n *Node) Work(work func() error) error {
	n.processors <- struct{}{}
	defer func() { <-n.processors }()
	return work()
}

// Statements is how many statements of each kind may run at once.
func (n *Node) Statements() int { return n.cfg.Statements }

type accountKey struct{}

// WithAccount says for whom everything under a context is spent.
func WithAccount(ctx context.Context, a contracts.AccountID) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// accountOf is 0 for what no account asked for.
func accountOf(ctx context.Context) contracts.AccountID {
	a, _ := ctx.Value(accountKey{}).(contracts.AccountID)
	return a
}
