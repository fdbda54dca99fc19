package load_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/process"
)

// balancer is a simple one of the usual kind: it regularly checks whether each
// node is ready, and distributes requests in turn among those that were. It
// never retries.
type balancer struct {
	*httptest.Server
	t testing.TB

	mu    sync.Mutex
	nodes []*process.Role // those that were ready
	next  int
}

// lookEvery is the interval at which the balancer checks its nodes.
const lookEvery = 100 * time.Millisecond

func newBalancer(t testing.TB) *balancer {
	b := &balancer{t: t}
	proxy := &httputil.ReverseProxy{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true},
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "nobody.invalid"
			if n := b.choose(); n != nil {
				r.Out.URL.Host = n.Listen()
			}
		},
	}
	b.Server = httptest.NewServer(proxy)
	t.Cleanup(b.Close)
	return b
}

func (b *balancer) choose() *process.Role {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.nodes) == 0 {
		return nil
	}
	b.next++
	return b.nodes[b.next%len(b.nodes)]
}

// watch checks a node until ctx ends, and sends requests to it while it is
// ready.
func (b *balancer) watch(ctx context.Context, n *process.Role) {
	for ctx.Err() == nil {
		b.set(n, n.Ready())
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
	b.set(n, false)
}

func (b *balancer) set(n *process.Role, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, known := range b.nodes {
		if known == n {
			if !ready {
				b.nodes = append(b.nodes[:i:i], b.nodes[i+1:]...)
			}
			return
		}
	}
	if ready {
		b.nodes = append(b.nodes, n)
	}
}
