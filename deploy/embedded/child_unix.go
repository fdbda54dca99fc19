//go:build !windows

package embedded

import (
	"os"
	"os/exec"
	"syscall"
)

// watchParent gives a child the end of the pipe that it reads until its parent
// is gone, and a process group of its own: Ctrl-C in a terminal must reach only
// us, so that the servers are stopped last.
func watchParent(child *exec.Cmd, end *os.File) {
	child.ExtraFiles = []*os.File{end} // descriptor 3
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// parentPipe returns, in the child, the pipe passed by watchParent.
func parentPipe() *os.File { return os.NewFile(3, "parent") }

// yieldTo lets other processes go first, the more the higher nice is, up to 19.
// On Linux it only applies to this thread, whose priority all threads of the
// server inherit, and not to those of Go, which guard it.
func yieldTo(nice int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice) }

// terminate sends a process SIGTERM.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
