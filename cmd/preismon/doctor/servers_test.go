package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestSilentServer: a server that takes connections and says nothing does not
// keep the others from being asked.
func TestSilentServer(t *testing.T) {
	for name, c := range map[string]struct {
		look func(*Site, context.Context) []Finding
		want []State
	}{
		"nodes":        {(*Site).nodes, []State{Bad, OK}},
		"roles":        {(*Site).roles, []State{Bad, OK, OK, OK, OK}}, // ready, open files, archive, keys
		"versions":     {(*Site).versions, []State{OK}},
		"certificates": {(*Site).certificates, []State{Unknown, OK}},
	} {
		asked := make(chan struct{}) // the good one was
		good := goodServer(t, name == "certificates", sync.OnceFunc(func() { close(asked) }))
		silent := strings.Replace(good, host(good), silentServer(t, asked), 1)
		s := &Site{Now: time.Now}
		if name == "roles" {
			s.Admins = []string{silent, good}
		} else {
			s.Nodes = []string{silent, good}
		}
		within, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		var got []State
		found := c.look(s, within)
		for _, f := range found {
			got = append(got, f.State)
		}
		equals.Slices(t, c.want, got, "%s: %+v", name, found)
		cancel()
	}
}

// silentServer takes connections, and closes them when done is closed.
func silentServer(t *testing.T, done <-chan struct{}) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				<-done
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// goodServer is a query node that answers at one address, also as a role, and
// calls asked for each request or handshake.
func goodServer(t *testing.T, byTLS bool, asked func()) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked()
		switch r.URL.Path {
		case "/healthz":
			fmt.Fprint(w, `{"build":"v1"}`)
		case "/readyz":
			fmt.Fprint(w, `{"ready":true,"checks":{"archive 1":"ok"},"about":{"keys":{"token":["a"],"cursor":["x"]}}}`)
		case "/metrics":
			fmt.Fprint(w, "process_open_fds 1\nprocess_max_fds 100\n")
		default:
			fmt.Fprintf(w, `{"resource":"http://%s/mcp"}`, r.Host)
		}
	})
	t.Cleanup(server.Close)
	if !byTLS {
		server.Start()
		return server.URL
	}
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		asked()
		return nil, nil
	}}
	server.StartTLS()
	return server.URL
}
