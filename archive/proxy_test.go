package archive_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"preismon/archive"
)

// proxy sits between a client and a server and disturbs their traffic.
type proxy struct {
	net.Listener
	target string

	mu      sync.Mutex
	conns   []net.Conn
	downCut int64                     // bytes of answers per connection before it is cut; negative: never
	upCut   int64                     // bytes of requests, likewise
	reset   bool                      // cut by RST, not by FIN
	hang    bool                      // at the cut, go silent instead
	lose    func(request []byte) bool // cut instead of answering the first such chunk
	lost    int
}

// newProxy starts a proxy, which spoil configures before its first connection.
func newProxy(tb testing.TB, cfg *archive.S3Config, spoil func(*proxy)) *proxy {
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{Listener: listener, target: endpoint.Host, downCut: -1, upCut: -1}
	spoil(p)
	cfg.Endpoint = "http://" + listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { p.run(&running) })
	tb.Cleanup(func() {
		listener.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		running.Wait()
	})
	return p
}

func (p *proxy) run(running *sync.WaitGroup) {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		losing := make(chan struct{})
		running.Go(func() { p.up(client, server, losing) })
		running.Go(func() { p.down(client, server, losing) })
	}
}

var errCut = errors.New("cut")

func (p *proxy) up(client, server net.Conn, losing chan struct{}) {
	p.pass(client, server, p.upCut, func(chunk []byte) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.lose != nil && p.lost == 0 && p.lose(chunk) {
			p.lost++
			close(losing)
		}
		return nil
	}, client, server)
}

func (p *proxy) down(client, server net.Conn, losing chan struct{}) {
	p.pass(server, client, p.downCut, func([]byte) error {
		select {
		case <-losing:
			return errCut
		default:
			return nil
		}
	}, client, server)
}

// pass copies until limit bytes have passed; negative: no limit.
func (p *proxy) pass(from, to net.Conn, limit int64, look func([]byte) error, client, server net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && look(buf[:n]) != nil {
			break
		}
		cut := limit >= 0 && int64(n) >= limit
		if cut {
			n = int(limit)
		}
		limit -= int64(n)
		if _, err := to.Write(buf[:n]); err != nil {
			break
		}
		if cut && p.hang {
			io.Copy(io.Discard, from)
		}
		if cut || err != nil {
			break
		}
	}
	if tcp, ok := client.(*net.TCPConn); ok && p.reset {
		tcp.SetLinger(0)
	}
	client.Close()
	server.Close()
}
