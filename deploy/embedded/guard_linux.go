package embedded

import "syscall"

// guardedProcess makes the kernel kill the program when the thread that started
// it ends; that is the main thread of the guarding process, locked permanently.
func guardedProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
