//go:build !windows

package embedded

import (
	"os"
	"os/exec"
	"syscall"
)

// watchParent hands a child the end of the pipe that it reads until its parent is
// gone, and a group of its own: Ctrl-C in a terminal must reach us alone, so that
// the servers are stopped last.
func watchParent(child *exec.Cmd, end *os.File) {
	child.ExtraFiles = []*os.File{end} // descriptor 3
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// parentPipe is, in the child, what watchParent handed it.
func parentPipe() *os.File { return os.NewFile(3, "parent") }

// yieldTo lets other processes be served first, the more the higher nice is, up
// to 19. On Linux it is of this thread alone, whose priority all threads of the
// server inherit, and not those of Go, which guard it.
func yieldTo(nice int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice) }

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
