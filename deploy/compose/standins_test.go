package compose_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Where no image can be pulled, the images of ClickHouse and NATS contain this
// test binary under the names of their programs. It accepts the command lines
// that docker-compose.yml uses for the real ones. NATS is the real server,
// compiled in; ClickHouse is its library; wget does what a health check needs.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "clickhouse":
		exit(clickHouse(os.Args[1:]))
	case "nats-server":
		exit(natsServer(os.Args[1:]))
	case "wget":
		exit(wget(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func natsServer(args []string) error {
	flags := flag.NewFlagSet("nats-server", flag.ContinueOnError)
	options, err := server.ConfigureOptions(flags, args, nil, flags.Usage, nil)
	if err != nil {
		return err
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	s.Start()
	<-terminated
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

func wget(args []string) error {
	resp, err := http.Get(args[len(args)-1])
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	return nil
}
