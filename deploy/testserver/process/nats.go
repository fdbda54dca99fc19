package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"preismon/deploy/embedded"
)

// natsFolder turns the test binary into a NATS server in that folder, so that it
// can be killed like one.
const natsFolder = "PREISMON_TEST_PROCESS_NATS"

// natsRoom is how many bytes its streams may use; 0: what the disk has.
const natsRoom = "PREISMON_TEST_PROCESS_NATS_ROOM"

func serveNATS() {
	room, _ := strconv.ParseInt(os.Getenv(natsRoom), 10, 64)
	s, err := embedded.StartNATS(context.Background(), embedded.NATSConfig{Dir: os.Getenv(natsFolder), MaxStore: room, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
	os.Exit(0)
}

// NATS is a server with JetStream. The test's package must call Main. Its
// methods are not safe for concurrent use.
type NATS struct {
	Dir  string // of its streams
	Room int64  // of the next start, in bytes; 0: what the disk has

	cmd *exec.Cmd
	in  io.Closer // open as long as the server must run
	url string
	up  bool
}

// Start starts the server and waits until it listens.
func (s *NATS) Start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.cmd = exec.Command(self)
	s.cmd.Env = append(os.Environ(), natsFolder+"="+s.Dir, natsRoom+"="+strconv.FormatInt(s.Room, 10))
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	s.url, s.up = strings.TrimSpace(line), true
	return nil
}

// URL returns where it listens, which changes with each start.
func (s *NATS) URL() string { return s.url }

// Up reports whether it was started and not killed since.
func (s *NATS) Up() bool { return s.up }

// Process returns the one that was started last.
func (s *NATS) Process() *os.Process { return s.cmd.Process }

// Kill does kill -9, and returns when the process is gone.
func (s *NATS) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.up = false
}
