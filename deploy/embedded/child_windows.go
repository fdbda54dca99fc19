package embedded

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// watchParent gives a child the end of the pipe that it reads until its parent
// is gone, as its standard input because no other descriptors can be passed, and
// a process group of its own: Ctrl-C in a terminal must reach only us.
func watchParent(child *exec.Cmd, end *os.File) {
	child.Stdin = end
	child.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// parentPipe returns, in the child, the pipe passed by watchParent.
func parentPipe() *os.File { return os.Stdin }

// yieldTo lets other processes go first; Windows has a single step for that.
func yieldTo(int) {
	_ = windows.SetPriorityClass(windows.CurrentProcess(), windows.BELOW_NORMAL_PRIORITY_CLASS)
}

// terminate kills a process: Windows cannot ask it to end.
func terminate(p *os.Process) error { return p.Kill() }
