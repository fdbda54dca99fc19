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

// cut breaks off an answer in progress when its token or its account is no
// longer valid, even while the client takes nothing of it.
type cut struct {
	mu       sync.Mutex
	answered bool // a success response has begun
	ended    bool
}

// begins records which answer has begun. A problem is sent to its end.
func (x *exchange) begins(status int) {
	x.cut.mu.Lock()
	defer x.cut.mu.Unlock()
	x.cut.answered = status >= 200 && status < 300
}

// extend allows the client another stall, or no time if the answer is cut off.
// A writer without deadlines (in a test) is left unchanged.
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

// cutOff sends nothing more of a success. What waits in the kernel for a slow
// client is dropped with the connection.
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

// isCut reports whether a success was, or may have been, broken off.
func (x *exchange) isCut() bool {
	x.cut.mu.Lock()
	defer x.cut.mu.Unlock()
	return x.cut.ended && x.cut.answered
}

type connKey struct{}

// unsentBytes is how much of an answer may wait in the kernel: a chunk of a stream.
const unsentBytes = 128 << 10

// withConn keeps the connection of a request where cutOff can find it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	boundUnsent(c)
	return context.WithValue(ctx, connKey{}, c)
}

// held lets a reader run as long as the token is valid.
func (a *api) held(c *gin.Context, t *auth.Token, next reader) error {
	ctx, hold := a.auth.Hold(c.Request.Context(), t)
	x := exchangeOf(c.Request)
	x.hold = hold
	outer := c.Request
	c.Request = outer.WithContext(ctx)
	defer func() { // also when the handler breaks off its answer
		hold.Release()
		c.Request = outer // whose context ends only with the client
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
