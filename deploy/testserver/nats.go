package testserver

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"preismon/deploy/embedded"
)

// natsConfig has the relevant settings of deploy/nats/nats.conf, and no users.
const natsConfig = `max_payload: 8MB
max_pending: 32MB
jetstream { store_dir: /data, max_memory_store: 256MB }
`

var natsImage = sync.OnceValues(func() (string, error) { return image("nats") })

// NATS returns the address, with credentials, of a JetStream server without
// streams, shut down at the end of the test.
func NATS(tb testing.TB) string {
	tb.Helper()
	needs := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatalf("this test needs NATS: %v", err)
		}
	}
	img, err := natsImage()
	needs(err)
	if img != "" {
		c, address, err := container(tb.Context(), img, "4222/tcp",
			testcontainers.WithEntrypoint("nats-server", "--config", "/etc/nats.conf"), testcontainers.WithCmd(),
			testcontainers.WithFiles(testcontainers.ContainerFile{Reader: strings.NewReader(natsConfig), ContainerFilePath: "/etc/nats.conf", FileMode: 0o444}),
			testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForLog("Server is ready")))
		needs(err)
		cleanup(tb, "remove the NATS container", func(ctx context.Context) error { return c.Terminate(ctx) })
		return "nats://" + address
	}
	s, err := embedded.StartNATS(tb.Context(), embedded.NATSConfig{Dir: tb.TempDir(), Logger: logger()})
	needs(err)
	cleanup(tb, "stop NATS", s.Stop)
	return s.URL()
}
