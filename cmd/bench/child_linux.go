package main

import "syscall"

// withParent ends a child when this process ends, for whatever reason.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
