// Package store reads the read model from ClickHouse: it implements
// query.Store. Questions are SQL files under sql/, one a question; every
// value is bound by name, and every statement that reads a mandate's data is
// built from the caller's query.Visibility, in one place.
//
// Rows of observations are read as native columns with ch-go, because they
// are many; records of the catalogue with clickhouse-go.
package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/query/admission"
	"preismon/query/cache"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Config says where ClickHouse is and how many connections to use.
type Config struct {
	// DSN is clickhouse://user:password@host:port/database of a user that
	// may only read, and settings of its statements, as ?max_memory_usage=N. It
	// holds a password.
	DSN contracts.Secret
	// Admission says how many statements run at once; nil: as admission.Defaults.
	Admission *admission.Node
	// SliceRows is how many rows a slice of a long read scans at most, about.
	SliceRows int
	// PairRows is over how many rows of its mandate a read may pass before few
	// pairs are read one by one.
	PairRows int
	// Shards is over how many shards of a cluster the rows of observations are
	// spread, and how many partitions the projectors make; the DSN names any of
	// them. 1: they are all on the one server.
	Shards int
	// Written tells what stands in the checkpoints as of a moment after the call,
	// as long as nothing is written, by the same pointer; nil: it is being written,
	// or not known. nil: the checkpoints are read for each request. Called side by
	// side.
	Written func(context.Context) *event.Written
	// Asked is told of every statement that ended; nil: nobody. Called side by
	// side.
	Asked func(Asked)
	// Migrated tells whether the tables are those of this program. It is asked
	// before each statement until it once gives nil; until then reads are
	// refused as Unavailable. nil: they are. Called side by side.
	Migrated func(context.Context) error
}

// Defaults suits one node with a few dozen concurrent readers.
func Defaults() Config {
	return Config{SliceRows: 131_072, PairRows: pairRows, Shards: 1}
}

// Validate names every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	if c.DSN == "" {
		f.Addf("clickhouse-dsn: missing")
	} else if _, err := clickhouse.ParseDSN(c.DSN.Reveal()); err != nil {
		f.Addf("clickhouse-dsn: not of the form clickhouse://user:password@host:port/database")
	}
	f.Check(c.SliceRows > 0, "slice rows: not positive")
	f.Check(c.PairRows > 0, "pair rows: not positive")
	f.Check(c.Shards > 0 && c.Shards <= maxShards, "shards: not from 1 to %d", maxShards)
	return f.Err()
}

// Store implements query.Store.
type Store struct {
	node       *admission.Node
	conn       driver.Conn // of records of the catalogue
	reads      *pool       // of observations
	circuit    *circuit    // of both
	shards     shards
	sliceRows  uint64
	pairRows   int
	accounts   *accounts
	moments    shared[struct{}, moment]
	written    func(context.Context) *event.Written
	last       atomic.Pointer[lastMoment] // nil: none
	states     shared[who, *state]
	feeds      feeds
	newest     newestMoment
	pairCounts *cache.Cache[question, pairCounts]
	estimates  *cache.Cache[question, estimate]

	tell  func(Asked)
	life  string        // tells the statements of this process from those of another
	asked atomic.Uint64 // statements so far
}

// These hold for every statement: a wrong result is worse than a slow one,
// and a cut one must never look complete.
var settings = map[string]any{
	"use_query_condition_cache": 0, // has returned rows across callers
	"result_overflow_mode":      "throw",
	"read_overflow_mode":        "throw",
	"timeout_overflow_mode":     "throw",
	"skip_unavailable_shards":   0,
	"join_use_nulls":            0,
}

// dialTimeout bounds the making of a connection; it is well below the time
// budget of a read.
const dialTimeout = 5 * time.Second

// accountBytes is what is remembered of accounts: a few ten thousand.
const accountBytes = 16 << 20

// pairCountBytes is what is remembered of how many pairs reads are about.
const pairCountBytes = 4 << 20

// estimateBytes is what is remembered of how many rows reads look at.
const estimateBytes = 1 << 20

// New connects lazily: it succeeds without a server, and reads fail until
// there is one.
func New(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opt, err := clickhouse.ParseDSN(cfg.DSN.Reveal())
	if err != nil {
		return nil, fmt.Errorf("clickhouse-dsn: %w", err)
	}
	node := cfg.Admission
	if node == nil {
		node = admission.New(admission.Defaults())
	}
	// One for each statement that is admitted, and one for Ping.
	opt.MaxOpenConns, opt.MaxIdleConns = node.Statements()+1, node.Statements()
	opt.ConnMaxLifetime = time.Hour
	opt.DialTimeout = dialTimeout // also of the handshake, which no context ends
	opt.Compression = nil
	if opt.Settings == nil {
		opt.Settings = clickhouse.Settings{}
	}
	var native []ch.Setting
	maps.Copy(opt.Settings, settings)
	for k, v := range opt.Settings { // those of the DSN hold for all statements, too
		native = append(native, ch.Setting{Key: k, Value: fmt.Sprint(v), Important: true})
	}
	conn, err := clickhouse.Open(opt)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	reads, err := newPool(ch.Options{
		Address: opt.Addr[0], Database: opt.Auth.Database, User: opt.Auth.Username, Password: opt.Auth.Password,
		TLS: tlsOf(opt.TLS), Settings: native, ReadTimeout: ch.NoTimeout, DialTimeout: dialTimeout, HandshakeTimeout: dialTimeout,
		ClientName: "preismon query",
	}, node.Statements())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("clickhouse: %w", err), conn.Close())
	}
	s := &Store{
		node: node, conn: conn, reads: reads, circuit: &circuit{probe: reads.probe, gate: gate{migrated: cfg.Migrated}},
		shards: shards(cfg.Shards), sliceRows: uint64(cfg.SliceRows), pairRows: cfg.PairRows,
		written: cfg.Written, tell: cfg.Asked, life: strconv.FormatUint(uint64(rand.Uint32()), 36) + ".",
	}
	s.remember()
	return s, nil
}

// company is how long what everybody asks with each request waits for others.
const company = 200 * time.Microsecond

// remember makes what a store keeps between requests, empty.
func (s *Store) remember() {
	s.accounts = newAccounts(accountBytes)
	s.pairCounts = cache.New(pairCountBytes, func(question, pairCounts) int { return 48 })
	s.estimates = cache.New(estimateBytes, func(question, estimate) int { return 64 })
	s.moments.read = func(ctx context.Context, _ []struct{}) (moment, error) { return s.momentNow(ctx) }
	s.states.read = s.readState
	s.moments.company, s.states.company = company, company
	s.feeds = feeds{read: s.readFeeds, of: map[string]*feedShare{}}
}

func tlsOf(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	return c.Clone()
}

// Close ends all connections; running reads fail.
func (s *Store) Close() error {
	s.circuit.close()
	s.reads.close()
	return s.conn.Close()
}

// Ping tells whether ClickHouse answers.
func (s *Store) Ping(ctx context.Context) error { return kind(s.conn.Ping(ctx)) }

// Codes of ClickHouse exceptions that are no fault of the statement.
const (
	codeTimeoutExceeded     = 159
	codeTooManyQueries      = 202
	codeMemoryLimit         = 241
	codeQueryCancelled      = 394
	codeTooSlow             = 160
	codeServerOverloaded    = 745
	codeNetworkError        = 210
	codeSocketTimeout       = 209
	codeUnknownTable        = 60
	codeTableIsDropped      = 218 // as a rebuild exchanges it, between planning and reading
	codeAuthenticationError = 516
	codeNoShardAnswers      = 279 // ALL_CONNECTION_TRIES_FAILED
	codeShardBrokeOff       = 32  // ATTEMPT_TO_READ_AFTER_EOF
)

// over tells whether a context has ended, or is just about to.
func over(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// kind gives an error of a client its kind: what ended by time, what ended
// because the server is away or overloaded, and what is a fault of ours.
func kind(err error) error {
	if err == nil {
		return nil
	}
	code := exceptionCode(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), code == codeTimeoutExceeded, code == codeTooSlow:
		return fault.Wrap(err, fault.Timeout, "The read did not finish in time.")
	case errors.Is(err, context.Canceled):
		return err
	case code == codeTooManyQueries, code == codeMemoryLimit, code == codeServerOverloaded, code == codeQueryCancelled,
		code == codeNetworkError, code == codeSocketTimeout, code == codeUnknownTable, code == codeTableIsDropped,
		code == codeAuthenticationError, code == codeNoShardAnswers, code == codeShardBrokeOff,
		errors.Is(err, clickhouse.ErrAcquireConnTimeout), lost(err):
		return unavailable(err)
	}
	return err
}
