package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"preismon/contracts/plaintext"
)

// command runs a program with the message on its standard input; exit code 0 is
// a delivery.
func command(ctx context.Context, args []string, m message) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	ownProcessGroup(cmd)
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(m.Body), time.Second
	cmd.Env = append(cmd.Environ(), "PREISMON_ALERT_ID="+m.ID)
	out := &head{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		return nil // it left a process behind that has its output open
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, plaintext.Clean(string(out.text), 200))
	}
	return nil
}

// head keeps the beginning of what a program writes.
type head struct {
	text []byte
	most int
}

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), h.most-len(h.text))]...)
	return len(p), nil
}
