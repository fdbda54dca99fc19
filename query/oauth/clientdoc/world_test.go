package clientdoc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/oauth/clientdoc"
)

// names is a name server on loopback. It answers A queries for any name with
// the addresses of the lists, one list per query; the last list is repeated.
type names struct {
	resolver *net.Resolver
	mu       sync.Mutex
	answers  [][]string
	asked    int
}

func serveNames(t *testing.T, answers ...[]string) *names {
	t.Helper()
	conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { conn.Close() })
	n := &names{answers: answers}
	n.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	go func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			q := m.Questions[0]
			for _, a := range n.next(q.Type) {
				h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: resource(netip.MustParseAddr(a))})
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	return n
}

func resource(a netip.Addr) dnsmessage.ResourceBody {
	if a.Is4() {
		return &dnsmessage.AResource{A: a.As4()}
	}
	return &dnsmessage.AAAAResource{AAAA: a.As16()}
}

// next returns the addresses of the type in the current list. A and AAAA
// queries come in pairs; the A query moves to the next list.
func (n *names) next(kind dnsmessage.Type) (of []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[min(n.asked/2, len(n.answers)-1)]
	n.asked++
	for _, a := range list {
		if netip.MustParseAddr(a).Is4() == (kind == dnsmessage.TypeA) {
			of = append(of, a)
		}
	}
	return of
}

func (n *names) lookups() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked / 2
}

// world is a host of documents, a fetcher that may reach it, and a clock.
type world struct {
	t       *testing.T
	port    uint16
	handler atomic.Value // http.HandlerFunc
	hits    atomic.Int32
	roots   *x509.CertPool
	now     atomic.Int64
	names   *names
}

const host = "client.example.com"

func newWorld(t *testing.T) *world {
	w := &world{t: t, names: serveNames(t, []string{"127.0.0.1"})}
	w.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano())
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host, "other.example.com", "client.example.org", "wrong.example.net"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	cert := must.Get(x509.ParseCertificate(der))(t)
	w.roots = x509.NewCertPool()
	w.roots.AddCert(cert)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.hits.Add(1)
		w.handler.Load().(http.HandlerFunc)(rw, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = discard
	server.StartTLS()
	t.Cleanup(server.Close)
	w.port = netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
	w.serve(nil)
	return w
}

// anywhere replaces the strict check in tests that expect to be served.
func anywhere(string, string, syscall.RawConn) error { return nil }

func (w *world) fetcher(set ...func(*clientdoc.Config, *clientdoc.Deps)) *clientdoc.Fetcher {
	w.t.Helper()
	cfg := clientdoc.Defaults()
	cfg.Ports = []uint16{w.port}
	deps := clientdoc.Deps{Control: anywhere, Resolver: w.names.resolver, Roots: w.roots, Now: func() time.Time { return time.Unix(0, w.now.Load()) }}
	for _, f := range set {
		f(&cfg, &deps)
	}
	f := must.Get(clientdoc.New(cfg, deps))(w.t)
	return f
}

func (w *world) pass(d time.Duration) { w.now.Add(int64(d)) }

// id returns the id of a client at the host of the world.
func (w *world) id(path string) string { return w.at(host, path) }

func (w *world) at(name, path string) string {
	return "https://" + net.JoinHostPort(name, big.NewInt(int64(w.port)).String()) + path
}

type object map[string]any

// document returns a valid document with changes.
func (w *world) document(id string, change object) string {
	o := object{"client_id": id, "client_name": "Example", "redirect_uris": []string{"http://127.0.0.1/cb", "https://client.example.com/cb"}, "token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"}}
	for k, v := range change {
		if o[k] = v; v == nil {
			delete(o, k)
		}
	}
	b := must.Get(json.Marshal(o))(w.t)
	return string(b)
}

// serve answers with a valid document after calling header.
func (w *world) serve(header func(http.Header)) {
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if header != nil {
			header(rw.Header())
		}
		_, _ = rw.Write([]byte(w.document("https://"+r.Host+r.URL.RequestURI(), nil)))
	})
}

func (w *world) answer(h http.HandlerFunc) { w.handler.Store(h) }

func (w *world) wantHits(n int32) {
	w.t.Helper()
	equals.Is(w.t, n, w.hits.Load(), "requests")
}
