// Package clickhouse holds the connections of the projector: native protocol,
// opened when needed, closed after any error, so that a statement never runs on
// a connection whose state is unknown; and reads results row by row.
//
// The projector, its migrations, backups and rebuilds are its only callers. It retries nothing:
// whether a failed statement may be sent again is for the caller to decide.
package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	driver "github.com/ClickHouse/clickhouse-go/v2"
)

// Config is the address of the server and our login there.
type Config struct {
	Addrs       []string // host:port of the native protocol; the first that answers is used
	Database    string
	User        string
	Password    string
	TLS         *tls.Config
	DialTimeout time.Duration
	Compress    bool // LZ4 on the wire; worth it when the wire is slower than the CPU
}

// ParseDSN parses a data source name in clickhouse-go's form:
// clickhouse://user:password@host:9000/database?secure=true&compress=lz4.
func ParseDSN(dsn string) (Config, error) {
	o, err := driver.ParseDSN(dsn)
	if err != nil {
		return Config{}, errors.New("clickhouse DSN: not of the form clickhouse://user:password@host:9000/database")
	}
	if o.Protocol != driver.Native {
		return Config{}, errors.New("clickhouse DSN: the projector speaks the native protocol (clickhouse://), not HTTP")
	}
	c := Config{
		Addrs: o.Addr, Database: o.Auth.Database, User: o.Auth.Username, Password: o.Auth.Password,
		TLS: o.TLS, DialTimeout: o.DialTimeout, Compress: o.Compression != nil && o.Compression.Method != driver.CompressionNone,
	}
	if c.Database == "" {
		return Config{}, errors.New("clickhouse DSN: names no database")
	}
	return c, nil
}

// Pool is a set of connections. Its methods may be called concurrently.
type Pool struct {
	cfg  Config
	free chan *conn
	mu   sync.Mutex
	shut bool
	age  uint64 // counts broken connections: older ones may be broken too
}

type conn struct {
	client *ch.Client
	age    uint64
}

// Open returns a pool of at most size connections. It connects at first use.
func Open(cfg Config, size int) *Pool {
	if cfg.DialTimeout <= 0 {
		cfg.DialTimeout = 10 * time.Second
	}
	p := &Pool{cfg: cfg, free: make(chan *conn, size)}
	for range size {
		p.free <- &conn{}
	}
	return p
}

// ErrClosed is returned by a closed pool.
var ErrClosed = errors.New("clickhouse: pool is closed")

// Do runs one statement. It returns when the server has answered, the
// connection has broken, or ctx has ended; in the last two cases the statement
// may still be running or have completed.
func (p *Pool) Do(ctx context.Context, q ch.Query) error {
	var c *conn
	select {
	case c = <-p.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.free <- c }()
	p.mu.Lock()
	shut, age := p.shut, p.age
	p.mu.Unlock()
	if shut {
		return ErrClosed
	}
	if c.client != nil && c.age != age {
		_ = c.client.Close() // otherwise each try after a server restart would fail on one more of these
		c.client = nil
	}
	if c.client == nil || c.client.IsClosed() {
		client, err := p.dial(ctx)
		if err != nil {
			return err
		}
		c.client, c.age = client, age
	}
	// ch-go checks ctx only between packets: a silent server would block it.
	client := c.client
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	err := client.Do(ctx, q)
	if !stop() && err == nil && ctx.Err() != nil {
		c.client = nil // done, but the connection is being closed
		return nil
	}
	if err != nil {
		_ = client.Close()
		c.client = nil
		if _, answered := ch.AsException(err); !answered && ctx.Err() == nil {
			p.mu.Lock()
			p.age++
			p.mu.Unlock()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
	return err
}

func (p *Pool) dial(ctx context.Context) (*ch.Client, error) {
	opt := ch.Options{
		Database: p.cfg.Database, User: p.cfg.User, Password: p.cfg.Password,
		TLS: p.cfg.TLS, DialTimeout: p.cfg.DialTimeout, HandshakeTimeout: p.cfg.DialTimeout,
		ReadTimeout: ch.NoTimeout, ClientName: "preismon-projector", Dialer: &net.Dialer{KeepAlive: 15 * time.Second},
	}
	if p.cfg.Compress {
		opt.Compression = ch.CompressionLZ4
	}
	var errs []error
	for _, addr := range p.cfg.Addrs {
		opt.Address = addr
		client, err := ch.Dial(ctx, opt)
		if err == nil {
			return client, nil
		}
		errs = append(errs, fmt.Errorf("connect to %s: %w", addr, err))
	}
	return nil, errors.Join(errs...)
}

// Close closes all connections after waiting for the statements on them.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	for range cap(p.free) {
		c := <-p.free
		if c.client != nil {
			_ = c.client.Close()
			c.client = nil
		}
		defer func() { p.free <- c }()
	}
	return nil
}
