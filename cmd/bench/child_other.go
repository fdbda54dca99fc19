//go:build !linux

package bench

import "syscall"

// withParent cannot tie a child to this process on this system.
func withParent(syscall.Signal) *syscall.SysProcAttr { return nil }
