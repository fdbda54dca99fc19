// Package proxy stands between a client and a server of a test, and breaks their
// connections on request: at a byte, at a pattern, silently or with a reset, or
// as if no server listened. It knows TCP and nothing above.
package proxy

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy passes connections on to a server, whose address may change. It lives as
// long as the test.
type Proxy struct {
	tb      testing.TB
	address string

	mu       sync.Mutex
	listener net.Listener // nil: it refuses
	target   string
	links    map[*link]bool
	rules    [2]*Rule
	healed   chan struct{} // closed when the rules are removed
}

// link is one connection by way of the proxy.
type link struct {
	client, server net.Conn
	gone           chan struct{}
	once           sync.Once
	tail           [2][]byte // possible beginning of a pattern
	passed         [2]int64  // bytes
}

// New returns a proxy to the server at that host and port, which may be set
// later.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{tb: tb, address: "127.0.0.1:0", target: target, links: map[*link]bool{}, healed: make(chan struct{})}
	p.Mend()
	tb.Cleanup(p.Refuse)
	return p
}

// Before returns a proxy to the server of a URL, and the URL that goes through it.
func Before(tb testing.TB, server string) (p *Proxy, through string) {
	tb.Helper()
	p = New(tb, "")
	p.ToURL(server)
	return p, p.URL(server)
}

// Address returns the host and port where the proxy listens, which never change.
func (p *Proxy) Address() string { return p.address }

// URL returns the URL of a server through the proxy.
func (p *Proxy) URL(of string) string {
	p.tb.Helper()
	u, err := url.Parse(of)
	if err != nil {
		p.tb.Fatal(err)
	}
	u.Host = p.address
	return u.String()
}

// To sets where new connections go, and returns where they went before.
func (p *Proxy) To(target string) (was string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, p.target = p.target, target
	return was
}

// ToURL is To with the host and port of a URL.
func (p *Proxy) ToURL(server string) {
	p.tb.Helper()
	u, err := url.Parse(server)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.To(u.Host)
}

// Set sets the rule for one direction of all connections, replacing an earlier one.
func (p *Proxy) Set(d Direction, r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules[d] = &r
}

// Heal removes all rules: what was held passes.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = [2]*Rule{}
	close(p.healed)
	p.healed = make(chan struct{})
}

// Reset breaks every existing connection, by RST.
func (p *Proxy) Reset() { p.end(true) }

// Close ends every existing connection, by FIN. New ones pass.
func (p *Proxy) Close() { p.end(false) }

func (p *Proxy) end(reset bool) {
	p.mu.Lock()
	all := p.links
	p.links = map[*link]bool{}
	p.mu.Unlock()
	for l := range all {
		l.end(reset)
	}
}

// Refuse refuses connections, as if no server listened, and breaks existing ones.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.listener = nil
	p.mu.Unlock()
	p.Reset()
}

// Mend listens again, on the same address as before.
func (p *Proxy) Mend() {
	p.tb.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.tb.Errorf("listen again: %v", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.address = listener, listener.Addr().String()
	go p.accept(listener)
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			p.mu.Lock()
			target := p.target
			p.mu.Unlock()
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				return
			}
			l := &link{client: client, server: server, gone: make(chan struct{})}
			p.mu.Lock()
			late := p.listener != listener // it was told to refuse in the meantime
			if !late {
				p.links[l] = true
			}
			p.mu.Unlock()
			if late {
				l.end(true)
				return
			}
			go p.pump(l, Up)
			p.pump(l, Down)
		}()
	}
}

func (l *link) end(reset bool) {
	l.once.Do(func() {
		close(l.gone)
		for _, c := range []net.Conn{l.client, l.server} {
			if reset {
				_ = c.(*net.TCPConn).SetLinger(0)
			}
			_ = c.Close()
		}
	})
}

// pump passes one direction of a connection on.
func (p *Proxy) pump(l *link, d Direction) {
	from, to := l.client, l.server
	if d == Down {
		from, to = to, from
	}
	defer func() {
		l.end(false)
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	line := queue{to: to, gone: l.gone}
	for {
		n, err := from.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			pass, then, r := p.judge(l, d, rest)
			if r.Delay > 0 {
				time.Sleep(r.Delay)
			}
			if len(pass) > 0 && !line.write(pass, r.Late) {
				return
			}
			rest = rest[len(pass):]
			switch then {
			case Hold:
				if !p.held(l) {
					return
				}
			case End:
				return
			case Break:
				l.end(true)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// held waits until the proxy is healed; false: the connection ended first.
func (p *Proxy) held(l *link) bool {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	select {
	case <-healed:
		return true
	case <-l.gone:
		return false
	}
}
