package auth_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
)

// A node starts on a NATS whose streams reserve more than the server has room
// for: it knows the revoked tokens and counts together with other nodes.
func TestNoRoomLeft(t *testing.T) {
	t.Parallel() // it mostly waits
	cfg := embedded.NATSConfig{Dir: t.TempDir(), MaxStore: 2 << 30}
	limits := limitsOf(20, time.Hour)
	server := must.Get(embedded.StartNATS(t.Context(), cfg))(t)
	_, stop := counters(t, server.URL(), limits)
	node(t, server.URL())
	nc := must.Get(nats.Connect(server.URL()))(t)
	js := must.Get(jetstream.New(nc))(t)
	must.Get(js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", MaxBytes: 1 << 30}))(t)
	nc.Close()
	stop()
	must.Do(t, server.Stop(t.Context()))

	cfg.MaxStore = 512 << 20
	server = must.Get(embedded.StartNATS(t.Context(), cfg))(t)
	t.Cleanup(func() { must.Do(t, server.Stop(context.Background())) })
	node(t, server.URL())
	counters(t, server.URL(), limits)
}
