package process

import (
	"os/exec"
	"syscall"
)

// DieWithTest makes the process that a command starts end when the test process
// ends, for whatever reason.
func DieWithTest(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
