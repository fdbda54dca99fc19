package rest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"preismon/query/auth"
	"preismon/query/wire"
)

// cut is how an answer under way is broken off when its token or its account
// is no longer good, also while the client takes nothing of it.
type cut struct {
	mu       sync.Mutex
	answered bool // a success has begun
	ended    bool
}

// begins notes which answer has begun. A problem is sent to its end.
func (x *exchange) begins(status int) {
	x.cut.mu.Lock()
	defer x.cut.mu.Unlock()
	x.cut.answered = status >= 200 && status < 300
}

// extend gives the client another stall, or none when the answer is cut off. A
// writer that knows no deadlines (of a test) goes without.
func (x *exchange) extend() {
	x.cut.mu.Lock()
	defer x.cut.mu.Unlock()
	until := time.Now().Add(x.pace.stall)
	if x.cut.ended && x.cut.answered {
		until = past
	}
	_ = x.control.SetWriteDeadline(until)
}

var past = time.Unix(1, 0)

// cutOff lets nothing more of a success out. What waits in the kernel for a
// slow client is dropped with the connection.
func (x *exchange) cutOff(ctx context.Context) {
	x.cut.mu.Lock()
	defer x.cut.mu.Unlock()
	x.cut.ended = true
	if !x.cut.answered {
		return
	}
	if c, ok := ctx.Value(connKey{}).(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = x.control.SetWriteDeadline(past)
}

// isCut tells whether a success was, or may have been, broken off.
func (x *exchange) isCut() bool {
	x.cut.mu.Lock()
	defer x.cut.mu.Unlock()
	return x.cut.ended && x.cut.answered
}

type connKey struct{}

// unsentBytes is how much of an answer may wait in the kernel: a chunk of a stream.
const unsentBytes = 128 << 10

// withConn keeps the connection of a request where cutOff finds it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	boundUnsent(c)
	return context.WithValue(ctx, connKey{}, c)
}

// held lets a reader run as long as the token is good.
func (a *api) held(c *gin.Context, t *auth.Token, next reader) error {
	ctx, hold := a.auth.Hold(c.Request.Context(), t)
	x := exchangeOf(c.Request)
	x.hold = hold
	outer := c.Request
	c.Request = outer.WithContext(ctx)
	defer func() { // also when the handler breaks its answer off
		hold.Release()
		c.Request = outer // whose context ends with the client only
		if ended := auth.Ended(ctx); ended != nil {
			x.code = wire.ProblemOf(ended, "").Code
		}
	}()
	err := next(c, t.Principal())
	if ended := auth.Ended(ctx); ended != nil && err != nil {
		return ended
	}
	return err
}
