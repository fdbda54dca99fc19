package bench

import "syscall"

// withParent ends a child when this process ends, however it ends.
func withParent(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}
