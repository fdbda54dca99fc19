//go:build !windows

package notify

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownProcessGroup gives a command a process group of its own. Ctrl-C in a terminal
// does not reach it, and at the deadline all of its processes are killed: none
// of them may deliver after the attempt has failed.
func ownProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
