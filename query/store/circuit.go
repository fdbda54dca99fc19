package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"preismon/contracts/fault"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
)

const (
	lossesUntilAway = 5 // lost connections in a row
	probePause      = 200 * time.Millisecond
	probeLimit      = 2 * time.Second

	retryAfter = 5 * time.Second // what callers are told to wait while ClickHouse is away
)

// circuit keeps statements from waiting for a ClickHouse that is away: after
// several consecutive connections were lost or could not be made, statements
// are refused at once, until a connection can be made again. Callers'
// statements are not used as probes: one probe runs in the background, only
// while ClickHouse is away.
type circuit struct {
	probe func(context.Context) error
	gate  gate

	mu      sync.Mutex
	losses  int
	away    bool
	probing sync.WaitGroup
	end     context.CancelFunc // of probing
	closed  bool
}

var errAway = errors.New("clickhouse is away; a probe runs")

// guard runs a statement unless ClickHouse is away, and classifies its error.
func (c *circuit) guard(ctx context.Context, statement func() error) error {
	c.mu.Lock()
	away := c.away
	c.mu.Unlock()
	if away {
		return unavailable(errAway)
	}
	err := c.gate.pass(ctx)
	if err == nil {
		err = statement()
	}
	if err != nil && ended(ctx) { // the error shows nothing about ClickHouse
		return kind(errors.Join(cmp.Or(context.Cause(ctx), context.DeadlineExceeded), err))
	}
	if c.note(err); connectionLost(err) { // also a dial that timed out by itself
		return unavailable(err)
	}
	return kind(err)
}

// note counts the outcome of a statement that its caller did not end.
func (c *circuit) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.away || c.closed:
	case !connectionLost(err):
		c.losses = 0
	default:
		if c.losses++; c.losses >= lossesUntilAway {
			c.away = true
			var probing context.Context
			probing, c.end = context.WithCancel(context.Background())
			c.probing.Go(func() { c.await(probing) })
		}
	}
}

// await probes until a connection can be made.
func (c *circuit) await(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(probePause):
		}
		limited, cancel := context.WithTimeout(ctx, probeLimit)
		err := c.probe(limited)
		cancel()
		if !connectionLost(err) { // an exception is an answer, too
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.losses = false, 0
	c.end()
}

// close ends the probe.
func (c *circuit) close() {
	c.mu.Lock()
	c.closed = true
	if c.end != nil {
		c.end()
	}
	c.mu.Unlock()
	c.probing.Wait()
}

// connectionLost reports whether the error of a statement that its caller did not end
// means that a connection was lost or could not be made, rather than that the
// server answered.
func connectionLost(err error) bool {
	var network net.Error
	return err != nil && exceptionCode(err) == 0 && !errors.Is(err, context.Canceled) && !errors.Is(err, clickhouse.ErrAcquireConnTimeout) &&
		(errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) || errors.Is(err, ch.ErrClosed))
}

func unavailable(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Msg: "The data store is not available now.", Err: err, RetryAfter: retryAfter}
}

// exceptionCode returns the ClickHouse code in an error; 0: it has none.
func exceptionCode(err error) int {
	var native *ch.Exception
	var e *clickhouse.Exception
	switch {
	case errors.As(err, &native):
		return int(native.Code)
	case errors.As(err, &e):
		return int(e.Code)
	}
	return 0
}
