package doctor

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"preismon/deploy/testserver/must"
)

// TestVersions: builds of nodes and roles are compared; those that do not
// answer are left out.
func TestVersions(t *testing.T) {
	serve := func(build string) string {
		mux := http.NewServeMux()
		mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"status":"ok","build":%q}`, build)
		})
		mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "go_goroutines 3\npreismon_build_info{build=%q} 1\nx 2\n", build)
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		return server.URL
	}
	a, b, newer := serve("v1"), serve("v1"), serve("v2")
	for name, c := range map[string]struct {
		site Site
		want []State
		says string
	}{
		"the same":    {Site{Nodes: []string{a + "/"}, Admins: []string{b}}, []State{OK}, "v1, on all"},
		"differ":      {Site{Nodes: []string{a}, Admins: []string{b, newer}}, []State{Warning}, "v1 at " + a + ", " + b + "; v2 at " + newer},
		"nobody":      {Site{Admins: []string{"http://127.0.0.1:1"}}, nil, ""},
		"one is away": {Site{Nodes: []string{"http://127.0.0.1:1"}, Admins: []string{newer}}, []State{OK}, "v2"},
	} {
		found := c.site.versions(t.Context())
		if len(found) != len(c.want) || len(found) == 1 && (found[0].State != c.want[0] || !strings.Contains(found[0].Says, c.says) || (found[0].Fix == "") != (found[0].State == OK)) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestCertificates: it is reported before a certificate expires, and when it
// has.
func TestCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	ends := server.Certificate().NotAfter
	for before, want := range map[time.Duration]State{30 * 24 * time.Hour: OK, 20 * 24 * time.Hour: Warning, 2 * 24 * time.Hour: Bad, -time.Hour: Bad} {
		s := &Site{
			Nodes: []string{server.URL, "http://127.0.0.1:1"}, TablesTLS: []string{server.Listener.Addr().String()}, NATS: natsByTLS(t, server.TLS.Certificates),
			Now: func() time.Time { return ends.Add(-before) },
		}
		found := s.certificates(t.Context())
		if len(found) != 3 || found[1].State != want || found[2].State != want || !strings.HasPrefix(found[2].Says, "of NATS at 127.0.0.1:") || found[0].State != want || (found[0].Fix == "") != (want == OK) || !strings.Contains(found[0].Says, "valid until "+ends.UTC().Format(time.RFC3339)) {
			t.Errorf("%v before: %+v, want %s", before, found, want)
		}
	}
	s := &Site{Nodes: []string{"https://127.0.0.1:1"}, Now: time.Now}
	if found := s.certificates(t.Context()); len(found) != 1 || found[0].State != Unknown || !strings.HasPrefix(found[0].Fix, "openssl s_client -connect 127.0.0.1:1 ") {
		t.Errorf("away: %+v", found)
	}
}

// natsByTLS is a connection to a NATS that has the certificates.
func natsByTLS(t *testing.T, of []tls.Certificate) *nats.Conn {
	t.Helper()
	s := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, TLSConfig: &tls.Config{Certificates: of}}))(t)
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS does not start")
	}
	conn := must.Get(nats.Connect(s.ClientURL(), nats.Secure(&tls.Config{InsecureSkipVerify: true})))(t)
	t.Cleanup(conn.Close)
	return conn
}
