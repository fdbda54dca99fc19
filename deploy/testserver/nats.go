package testserver

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
// streams, shut down at the end of the test. A server named in the environment
// is used by one test at a time, across processes, and emptied for it.
func NATS(tb testing.TB) string {
	tb.Helper()
	if address := os.Getenv(NATSVariable); address != "" {
		namedNATS(tb, address)
		return address
	}
	needs := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatalf("this test needs NATS: %v; or name a server in %s", err, NATSVariable)
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

var (
	namedMutex sync.Mutex
	namedUsers = map[string]bool{}
)

func namedNATS(tb testing.TB, address string) {
	tb.Helper()
	namedMutex.Lock()
	twice := namedUsers[tb.Name()]
	namedUsers[tb.Name()] = true
	namedMutex.Unlock()
	if twice {
		tb.Fatalf("this test needs two NATS servers and %s names one; unset it", NATSVariable)
	}
	lock := flock.New(filepath.Join(os.TempDir(), "preismon-test-nats.lock"))
	if _, err := lock.TryLockContext(tb.Context(), 50*time.Millisecond); err != nil {
		tb.Fatalf("wait for the NATS server of %s: %v", NATSVariable, err)
	}
	nc, err := nats.Connect(address)
	if err != nil {
		_ = lock.Close()
		tb.Fatalf("this test needs NATS and the server of %s does not answer: %v", NATSVariable, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	empty := func(ctx context.Context) error {
		names := js.StreamNames(ctx)
		for name := range names.Name() {
			if err := js.DeleteStream(ctx, name); err != nil {
				return err
			}
		}
		return names.Err()
	}
	cleanup(tb, "empty the NATS server", func(ctx context.Context) error {
		defer func() {
			namedMutex.Lock()
			delete(namedUsers, tb.Name())
			namedMutex.Unlock()
			_ = lock.Close()
		}()
		defer nc.Close()
		return empty(ctx)
	})
	if err := empty(tb.Context()); err != nil {
		tb.Fatalf("empty the NATS server of %s: %v", NATSVariable, err)
	}
}
