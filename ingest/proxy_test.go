package ingest_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy is a line to a server that can be frozen: it stays up, but passes
// nothing.
type proxy struct {
	l      net.Listener
	to     string
	mu     sync.Mutex
	frozen chan struct{} // closed: data passes
	conns  []net.Conn
	wg     sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{l: l, to: to, frozen: make(chan struct{})}
	close(p.frozen)
	p.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			p.wg.Go(func() { p.pass(in, out) })
			p.wg.Go(func() { p.pass(out, in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.thaw()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) pass(from io.ReadCloser, to io.WriteCloser) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		gate := p.frozen
		p.mu.Unlock()
		<-gate
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = make(chan struct{})
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.frozen:
	default:
		close(p.frozen)
	}
}
