// Package admission owns what a node may spend on reads: the memory of running
// reads, concurrent statements, and processors. A read is charged before it
// reads, and gives back what its client has received. What is held for a
// client that receives nothing may be reclaimed for others, and is read again
// when the client goes on.
//
// No account can have all of it: its share shrinks as other accounts arrive. A
// read that finds no room within Config.Wait is refused: as RateLimited if its
// own account has used up its share, otherwise as Unavailable. Processes share
// nothing.
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
	// Memory is how many bytes all running reads may hold together.
	Memory int64
	// Statements bounds the statements for observations that run at once, and
	// separately those for records of the catalogue; half as many may sum up
	// observations.
	Statements int
	// Wait is how long a read waits for room, or for a statement, before it is
	// refused.
	Wait time.Duration
}

// Defaults returns a Config that suits a node with a few dozen concurrent
// readers.
func Defaults() Config {
	return Config{Memory: 256 << 20, Statements: 32, Wait: 10 * time.Second}
}

// MinMemory is the least memory that a node can work with: room for a few small
// reads next to one large read.
const MinMemory = 32 << 20

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.Memory >= MinMemory, "read-memory: %d bytes, at least %d", c.Memory, int64(MinMemory))
	f.Check(c.Statements >= 2, "read-statements: less than 2")
	f.Check(c.Wait > 0, "read-wait: not positive")
	return f.Err()
}

// Node is what one process may spend. Its methods may be called concurrently.
type Node struct {
	cfg        Config
	processors chan struct{}
	rows       statements
	records    statements
	sums       statements

	mu       sync.Mutex
	used     [classes]int64
	accounts map[contracts.AccountID]*account
	busy     int64               // accounts that hold memory (other than standing) or wait
	lines    [classes][]*account // the accounts with charges that wait
	waiting  int                 // charges that wait
	lent     map[*Room]struct{}
	// reclaiming fires repeatedly as long as a charge waits.
	reclaiming *time.Timer
	counts     counts
}

// New returns a node with a valid configuration.
func New(cfg Config) *Node {
	processors := runtime.GOMAXPROCS(0)
	// Streams run no more statements at once than the processors can keep up
	// with: more would only fill memory. They never have all statements, so
	// that pages find one.
	long := min(max(4, 2*processors), max(1, cfg.Statements*3/4))
	n := &Node{
		cfg: cfg, processors: make(chan struct{}, processors),
		accounts: map[contracts.AccountID]*account{}, lent: map[*Room]struct{}{},
	}
	n.reclaiming = time.AfterFunc(time.Hour, n.reclaimNow)
	n.reclaiming.Stop()
	n.rows = statements{node: n, most: cfg.Statements, mostLong: long}
	n.records = statements{node: n, most: cfg.Statements, mostLong: cfg.Statements}
	n.sums = statements{node: n, most: cfg.Statements / 2, mostLong: cfg.Statements / 2}
	return n
}

// Work runs work that needs nothing but a processor, such as encoding rows. As
// many such pieces run at once as there are processors. Go gives out processors
// in slices of ten milliseconds to any goroutine that can use one: without this
// limit, with dozens of streams in line, a page, which needs a processor
// briefly but often, would wait for all of them each time. The work must not
// wait for anything.
func (n *Node) Work(work func() error) error {
	n.processors <- struct{}{}
	defer func() { <-n.processors }()
	return work()
}

// Statements returns how many statements for observations may run at once, and
// how many of other kinds beside them.
func (n *Node) Statements() (rows, others int) { return n.rows.most, n.records.most + n.sums.most }

type accountKey struct{}

// WithAccount sets the account that pays for everything under a context.
func WithAccount(ctx context.Context, a contracts.AccountID) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// accountOf returns the account of a context; 0: none.
func accountOf(ctx context.Context) contracts.AccountID {
	a, _ := ctx.Value(accountKey{}).(contracts.AccountID)
	return a
}
