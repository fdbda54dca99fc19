//go:build !windows

package notify

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// At the deadline, a command ends with all processes that it has started.
func TestCommandEndsWhole(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	ctx, deadline := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- command(ctx, []string{"sh", "-c", "sleep 60 > " + pipe + " & wait"}, message{}) }()
	held := must.Get(os.Open(pipe))(t) // returns when sleep has it open
	defer held.Close()                 //nolint:errcheck // nothing is written
	deadline()
	if err := <-ended; err == nil {
		t.Error("it is a delivery")
	}
	must.Do(t, held.SetReadDeadline(time.Now().Add(10*time.Second)))
	if _, err := held.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a process is left: %v", err)
	}
}
