package embedded

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// watchParent hands a child the end of the pipe that it reads until its parent is
// gone, as its standard input since there are no other descriptors to hand over,
// and a group of its own: Ctrl-C in a terminal must reach us alone.
func watchParent(child *exec.Cmd, end *os.File) {
	child.Stdin = end
	child.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// parentPipe is, in the child, what watchParent handed it.
func parentPipe() *os.File { return os.Stdin }

// yieldTo lets other processes be served first; Windows knows one step of it.
func yieldTo(int) {
	_ = windows.SetPriorityClass(windows.CurrentProcess(), windows.BELOW_NORMAL_PRIORITY_CLASS)
}

// terminate ends a process: Windows cannot ask it to.
func terminate(p *os.Process) error { return p.Kill() }
