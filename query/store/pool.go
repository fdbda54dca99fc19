package store

import (
	"context"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/jackc/puddle/v2"
)

const (
	maxConnectionAge  = time.Hour
	maxConnectionIdle = 10 * time.Minute

	// cancelGrace is how long a statement whose context has ended may take to
	// cancel on the server. ch-go checks the context only between two packets.
	cancelGrace = time.Second
)

// pool keeps native connections. When a server has restarted, the first old
// connection that fails discards all of them, and its statement runs on a new
// one, so that callers do not notice a restart that is over.
type pool struct {
	connections *puddle.Pool[*ch.Client]
	options     ch.Options
}

func newPool(options ch.Options, most int) (*pool, error) {
	p := &pool{options: options}
	var err error
	p.connections, err = puddle.NewPool(&puddle.Config[*ch.Client]{
		Constructor: p.dial, Destructor: func(c *ch.Client) { _ = c.Close() }, MaxSize: int32(most),
	})
	return p, err
}

func (p *pool) dial(ctx context.Context) (*ch.Client, error) { return ch.Dial(ctx, p.options) }

// probe returns an error unless a connection can be made now.
func (p *pool) probe(ctx context.Context) error {
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	return c.Close()
}

// acquire returns a connection that is not too old.
func (p *pool) acquire(ctx context.Context) (*puddle.Resource[*ch.Client], error) {
	for {
		r, err := p.connections.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if time.Since(r.CreationTime()) < maxConnectionAge && r.IdleDuration() < maxConnectionIdle {
			return r, nil
		}
		r.Destroy()
	}
}

// do runs a statement; it runs it again if its connection, made for an earlier
// one, was lost before any block came. The result is untouched until then.
func (p *pool) do(ctx context.Context, q ch.Query) error {
	answered := false
	if take := q.OnResult; take != nil {
		q.OnResult = func(ctx context.Context, b proto.Block) error {
			answered = true
			return take(ctx, b)
		}
	}
	for began := time.Now(); ; {
		r, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		err = within(ctx, r.Value(), q)
		old := r.CreationTime().Before(began)
		if (err == nil || ch.IsException(err)) && !r.Value().IsClosed() && ctx.Err() == nil {
			r.Release()
			return err
		}
		r.Destroy() // what it would answer next is not known
		if !connectionLost(err) || ctx.Err() != nil {
			return err
		}
		p.connections.Reset()
		if !old || answered {
			return err
		}
		if q.QueryID != "" {
			q.QueryID += "-again" // the first may still run, and two statements cannot have one id at the same time
		}
	}
}

// within runs a statement that ends with its context, even while the server
// sends nothing: its connection is then closed.
func within(ctx context.Context, c *ch.Client, q ch.Query) error {
	done := make(chan struct{})
	defer close(done)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(cancelGrace):
			_ = c.Close()
		}
	})
	defer stop()
	return c.Do(ctx, q)
}

func (p *pool) close() { p.connections.Close() }
