package projector_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
)

// proxy passes connections on to a server, until it is told to cut or to
// stall a direction after a number of bytes.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	up    int64 // bytes to the server that still pass; -1: all
	down  int64 // bytes to the client that still pass; -1: all
	stall bool  // at the limit: hold the connection instead of closing it
	conns []net.Conn
}

func newProxy(t testing.TB, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, up: -1, down: -1}
	t.Cleanup(func() { _ = l.Close(); p.closeAll() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", target)
			if err != nil {
				_ = c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			go p.pump(s, c, &p.up)
			go p.pump(c, s, &p.down)
		}
	}()
	return p
}

// limit sets how many bytes still pass, -1 for all.
func (p *proxy) limit(up, down int64, stall bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up, p.down, p.stall = up, down, stall
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

var errLimit = errors.New("limit reached")

func (p *proxy) pump(to, from net.Conn, left *int64) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		stall := p.stall
		if *left >= 0 {
			if int64(n) >= *left {
				n, err = int(*left), errLimit
			}
			*left -= int64(n)
		}
		p.mu.Unlock()
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil && err == nil {
				err = werr
			}
		}
		if err == errLimit && stall {
			return // neither closed nor read
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

// dsn is the target's DSN by way of the proxy.
func (p *proxy) dsn(t testing.TB, direct string) string {
	return strings.Replace(direct, addr(t, direct), p.listener.Addr().String(), 1)
}
