package main

import "syscall"

// withParent ends a child when this process ends, for whatever reason.
func withParent(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}
