// Package store reads the read model from ClickHouse: it implements
// query.Store. Each query is an SQL file under sql/. Every value is bound by
// name, and the scope of every statement that reads a mandate's data is built
// from the caller's query.Visibility, in one place.
//
// Rows of observations are many, so they are read as native columns with ch-go;
// catalogue records are read with clickhouse-go.
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

// Config is where ClickHouse is and how it is read.
type Config struct {
	// DSN is clickhouse://user:password@host:port/database, for a user that may
	// only read, with settings for its statements as ?max_memory_usage=N. It
	// contains a password.
	DSN contracts.Secret
	// Admission limits how many statements run at once; nil: admission.Defaults.
	Admission *admission.Node
	// SliceRows is about how many rows a slice of a long read scans at most.
	SliceRows int
	// PairRows is how many rows of its mandate a read may pass over; beyond
	// that, few pairs are read one by one.
	PairRows int
	// Shards is the number of cluster shards that the rows of observations are
	// spread over, and the number of partitions of the projectors; the DSN names
	// any of the shards. 1: all rows are on the one server.
	Shards int
	// Written returns what is in the checkpoints as of a moment after the call:
	// the same pointer for as long as nothing is written; nil: it is being
	// written, or not known. nil: the checkpoints are read for each request. It
	// may be called concurrently.
	Written func(context.Context) *event.Written
	// OnStatement is called with every statement that has ended; nil: no reports. It
	// may be called concurrently.
	OnStatement func(StatementEnded)
	// Migrated reports whether the tables match this program. It is called
	// before each statement until it first returns nil; until then reads are
	// refused as Unavailable. nil: they match. It may be called concurrently.
	Migrated func(context.Context) error
}

// Defaults returns a configuration for one node with a few dozen concurrent
// readers.
func Defaults() Config {
	return Config{SliceRows: 131_072, PairRows: pairRows, Shards: 1}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	if c.DSN == "" {
		f.Addf("clickhouse-dsn: missing")
	} else if opt, err := clickhouse.ParseDSN(c.DSN.Reveal()); err != nil {
		f.Addf("clickhouse-dsn: not of the form clickhouse://user:password@host:port/database")
	} else {
		f.Check(len(opt.Addr) == 1, "clickhouse-dsn: it names %d servers, and must name one", len(opt.Addr))
	}
	f.Check(c.SliceRows > 0, "slice rows: not positive")
	f.Check(c.PairRows > 0, "pair rows: not positive")
	f.Check(c.Shards > 0 && c.Shards <= maxShards, "shards: not from 1 to %d", maxShards)
	return f.Err()
}

// Store implements query.Store.
type Store struct {
	node       *admission.Node
	conn       driver.Conn // for catalogue records
	reads      *pool       // for observations
	circuit    *circuit    // for both
	shards     shards
	sliceRows  uint64
	pairRows   int
	accounts   *accounts
	moments    shared[struct{}, moment]
	written    func(context.Context) *event.Written
	last       atomic.Pointer[lastMoment] // nil: none
	states     shared[accountKey, *state]
	feeds      feeds
	newest     newestMoment
	pairCounts *cache.Cache[question, pairCounts]
	estimates  *cache.Cache[question, estimate]

	onStatement func(StatementEnded)
	life        string        // distinguishes this process's statements from those of others
	statements  atomic.Uint64 // statements so far
}

// These settings apply to every statement: a wrong result is worse than a slow
// one, and a truncated one must never look complete.
var settings = map[string]any{
	"use_query_condition_cache": 0, // has returned rows to other callers
	"result_overflow_mode":      "throw",
	"read_overflow_mode":        "throw",
	"timeout_overflow_mode":     "throw",
	"skip_unavailable_shards":   0,
	"join_use_nulls":            0,
	// Passes that compare or copy expressions with all that is below them: together
	// they take half of the time of statistics.sql (decisions 050 and 074). None of
	// ours needs them.
	"optimize_and_compare_chain":               0,
	"optimize_syntax_fuse_functions":           0,
	"optimize_group_by_function_keys":          0,
	"optimize_aggregators_of_group_by_keys":    0,
	"optimize_redundant_functions_in_order_by": 0,
	"optimize_extract_common_expressions":      0,
	// Loading them for each part takes longer than what a page reads, and its key
	// says enough.
	"use_statistics": 0,
	// Half of what a small statement costs is unpacking blocks of which it reads a
	// few rows. ClickHouse itself keeps out of this cache what reads a million rows.
	"use_uncompressed_cache": 1,
}

// dialTimeout bounds how long connecting may take; it is well below the time
// budget of a read.
const dialTimeout = 5 * time.Second

// accountBytes bounds what is remembered of accounts: a few tens of thousands.
const accountBytes = 16 << 20

// pairCountBytes bounds what is remembered of how many pairs reads cover.
const pairCountBytes = 4 << 20

// estimateBytes bounds what is remembered of how many rows reads scan.
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
	ofObservations, others := node.Statements()
	// One connection for each admitted statement, and one for Ping.
	opt.MaxOpenConns, opt.MaxIdleConns = ofObservations+others+1, others
	opt.ConnMaxLifetime = time.Hour
	opt.DialTimeout = dialTimeout // also bounds the handshake, which no context ends
	opt.Compression = nil
	if opt.Settings == nil {
		opt.Settings = clickhouse.Settings{}
	}
	var native []ch.Setting
	maps.Copy(opt.Settings, settings)
	for k, v := range opt.Settings { // settings of the DSN apply to all statements, too
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
	}, ofObservations)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("clickhouse: %w", err), conn.Close())
	}
	s := &Store{
		node: node, conn: conn, reads: reads, circuit: &circuit{probe: reads.probe, gate: gate{migrated: cfg.Migrated}},
		shards: shards(cfg.Shards), sliceRows: uint64(cfg.SliceRows), pairRows: cfg.PairRows,
		written: cfg.Written, onStatement: cfg.OnStatement, life: strconv.FormatUint(uint64(rand.Uint32()), 36) + ".",
	}
	s.remember()
	return s, nil
}

// gatherDelay is how long a statement that every request needs waits for other
// requests to join it.
const gatherDelay = 200 * time.Microsecond

// remember creates what a store keeps between requests, empty.
func (s *Store) remember() {
	s.accounts = newAccounts(accountBytes)
	s.pairCounts = cache.New(pairCountBytes, func(question, pairCounts) int { return 48 })
	s.estimates = cache.New(estimateBytes, func(question, estimate) int { return 64 })
	s.moments.read = func(ctx context.Context, _ []struct{}) (moment, error) { return s.momentNow(ctx) }
	s.states.read = s.readState
	s.states.gatherDelay = gatherDelay
	if s.written == nil { // otherwise a message between nodes is nearly always enough
		s.moments.gatherDelay = gatherDelay
	}
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

// Ping reports whether ClickHouse answers.
func (s *Store) Ping(ctx context.Context) error { return kind(s.conn.Ping(ctx)) }

// Codes of ClickHouse exceptions that are not the fault of the statement.
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
	codeTableIsDropped      = 218 // when a rebuild exchanges it between planning and reading
	codeAuthenticationError = 516
	codeNoShardAnswers      = 279 // ALL_CONNECTION_TRIES_FAILED
	codeShardBrokeOff       = 32  // ATTEMPT_TO_READ_AFTER_EOF
)

// ended reports whether a context has ended or its deadline has passed.
func ended(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// kind classifies an error of a ClickHouse client: out of time, server away or
// overloaded, or our own fault.
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
		errors.Is(err, clickhouse.ErrAcquireConnTimeout), connectionLost(err):
		return unavailable(err)
	}
	return err
}
