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
	"io"
	"net"
	"runtime"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/chpool"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Config says where ClickHouse is and how many connections to use.
type Config struct {
	// DSN is clickhouse://user:password@host:port/database of a user that
	// may only read. It holds a password.
	DSN contracts.Secret
	// MaxReads bounds the reads of observations that run at once.
	MaxReads int
	// MaxConnections bounds the connections for records of the catalogue.
	MaxConnections int
	// MaxSlices bounds the slices of long reads that are read at once. More
	// than the processors can work on only fill memory.
	MaxSlices int
	// SliceRows is how many rows a slice of a long read scans, about.
	SliceRows int
}

// Defaults suits one node with a few dozen concurrent readers.
func Defaults() Config {
	return Config{MaxReads: 32, MaxConnections: 32, MaxSlices: max(4, 2*runtime.GOMAXPROCS(0)), SliceRows: 131_072}
}

// Validate names every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	if c.DSN == "" {
		f.Addf("clickhouse dsn: missing")
	} else if _, err := clickhouse.ParseDSN(c.DSN.Reveal()); err != nil {
		f.Addf("clickhouse dsn: not of the form clickhouse://user:password@host:port/database")
	}
	f.Check(c.MaxReads > 0, "max reads: not positive")
	f.Check(c.MaxConnections > 0, "max connections: not positive")
	f.Check(c.MaxSlices > 0, "max slices: not positive")
	f.Check(c.SliceRows > 0, "slice rows: not positive")
	return f.Err()
}

// Store implements query.Store.
type Store struct {
	conn      driver.Conn
	reads     *chpool.Pool
	sliceRows uint64
	slots     chan struct{} // one for each slice that may be read
	mandates  mandates
}

// These hold for every statement: a wrong result is worse than a slow one,
// and a cut one must never look complete.
var settings = map[string]any{
	"use_query_condition_cache": 0, // has returned rows across callers
	"result_overflow_mode":      "throw",
	"read_overflow_mode":        "throw",
	"timeout_overflow_mode":     "throw",
	"join_use_nulls":            0,
}

// dialTimeout bounds the making of a connection; it is well below the time
// budget of a read.
const dialTimeout = 5 * time.Second

// New connects lazily: it succeeds without a server, and reads fail until
// there is one.
func New(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opt, err := clickhouse.ParseDSN(cfg.DSN.Reveal())
	if err != nil {
		return nil, fmt.Errorf("clickhouse dsn: %w", err)
	}
	opt.MaxOpenConns, opt.MaxIdleConns = cfg.MaxConnections, cfg.MaxConnections
	opt.ConnMaxLifetime = time.Hour
	opt.DialTimeout = dialTimeout // also of the handshake, which no context ends
	opt.Compression = nil
	if opt.Settings == nil {
		opt.Settings = clickhouse.Settings{}
	}
	var native []ch.Setting
	for k, v := range settings {
		opt.Settings[k] = v
		native = append(native, ch.Setting{Key: k, Value: fmt.Sprint(v), Important: true})
	}
	conn, err := clickhouse.Open(opt)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	reads, err := chpool.New(ctx, chpool.Options{
		MaxConns: int32(cfg.MaxReads),
		ClientOptions: ch.Options{
			Address: opt.Addr[0], Database: opt.Auth.Database, User: opt.Auth.Username, Password: opt.Auth.Password,
			TLS: tlsOf(opt.TLS), Settings: native, ReadTimeout: ch.NoTimeout, DialTimeout: dialTimeout, ClientName: "preismon query",
		},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("clickhouse: %w", err), conn.Close())
	}
	return &Store{conn: conn, reads: reads, sliceRows: uint64(cfg.SliceRows), slots: make(chan struct{}, cfg.MaxSlices)}, nil
}

func tlsOf(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	return c.Clone()
}

// Close ends all connections; running reads fail.
func (s *Store) Close() error {
	s.reads.Close()
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
	codeAuthenticationError = 516
)

// timely tells an error that came with the deadline of ctx as that deadline:
// the client may meet it first, on its connection.
func timely(ctx context.Context, err error) error {
	if end, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(end) {
		return errors.Join(context.DeadlineExceeded, err)
	}
	return err
}

// kind gives an error of a client its kind: what ended by time, what ended
// because the server is away or overloaded, and what is a fault of ours.
func kind(err error) error {
	if err == nil {
		return nil
	}
	code := 0
	var native *ch.Exception
	var e *clickhouse.Exception
	switch {
	case errors.As(err, &native):
		code = int(native.Code)
	case errors.As(err, &e):
		code = int(e.Code)
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), code == codeTimeoutExceeded, code == codeTooSlow:
		return fault.Wrap(err, fault.Timeout, "The read did not finish in time.")
	case errors.Is(err, context.Canceled):
		return err
	case code == codeTooManyQueries, code == codeMemoryLimit, code == codeServerOverloaded, code == codeQueryCancelled,
		code == codeNetworkError, code == codeSocketTimeout, code == codeUnknownTable, code == codeAuthenticationError,
		code == 0 && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, ch.ErrClosed) || errors.Is(err, clickhouse.ErrAcquireConnTimeout)):
		return &fault.Error{Kind: fault.Unavailable, Msg: "The data store is not available now.", Err: err, RetryAfter: 5 * time.Second}
	}
	return err
}
