package process

import (
	"os/exec"
	"syscall"
)

// DieWithTest has the process that a command starts end when the test process ends, however it does.
func DieWithTest(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
