package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
)

func startNATS(t testing.TB, cfg embedded.NATSConfig) *embedded.NATS {
	t.Helper()
	cfg.Logger = quiet()
	n := must.Get(embedded.StartNATS(t.Context(), cfg))(t)
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func connect(t testing.TB, url string, options ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc := must.Get(nats.Connect(url, options...))(t)
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))(t)
	return js
}

func TestNATSKeepsMessages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nats")
	for _, always := range []bool{false, true} {
		n := startNATS(t, embedded.NATSConfig{Dir: dir, SyncAlways: always})
		js := connect(t, n.URL())
		stream := must.Get(js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept.>"}}))(t)
		if always {
			m, err := stream.GetMsg(t.Context(), 1)
			if err != nil || len(m.Data) != 5<<20 {
				t.Errorf("the message of before: %d bytes, %v", len(m.Data), err)
			}
		}
		must.Get(connect(t, n.URL(), nats.InProcessServer(n)).Publish(t.Context(), "kept.a", make([]byte, 5<<20)))(t)
		must.Do(t, n.Stop(t.Context()))
	}
	st, err := os.Stat(filepath.Join(dir, "passwords.json"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("password file: %v, %v", st, err)
	}
}

func TestNATSWantsThePassword(t *testing.T) {
	n := startNATS(t, embedded.NATSConfig{Dir: t.TempDir()})
	_, host, _ := strings.Cut(n.URL(), "@")
	if nc, err := nats.Connect("nats://" + host); err == nil {
		nc.Close()
		t.Error("came in without a password")
	}
	if !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("listens on %s", host)
	}
}
