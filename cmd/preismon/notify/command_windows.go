package notify

import (
	"os/exec"
	"syscall"
)

// ownProcessGroup gives a command a process group of its own: Ctrl-C does not reach
// it. At the deadline only the command itself is killed.
func ownProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
