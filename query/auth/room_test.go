package auth_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/embedded"
)

// A node starts on a NATS whose streams reserve more than the server has room
// for: it knows the revoked tokens and counts together with other nodes.
func TestNoRoomLeft(t *testing.T) {
	t.Parallel() // it mostly waits
	cfg := embedded.NATSConfig{Dir: t.TempDir(), MaxStore: 2 << 30}
	limits := limitsOf(20, time.Hour)
	server, err := embedded.StartNATS(t.Context(), cfg)
	must(t, err)
	_, stop := counters(t, server.URL(), limits)
	node(t, server.URL())
	nc, err := nats.Connect(server.URL())
	must(t, err)
	js, err := jetstream.New(nc)
	must(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", MaxBytes: 1 << 30})
	must(t, err)
	nc.Close()
	stop()
	must(t, server.Stop(t.Context()))

	cfg.MaxStore = 512 << 20
	server, err = embedded.StartNATS(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop(context.Background())) })
	node(t, server.URL())
	counters(t, server.URL(), limits)
}
