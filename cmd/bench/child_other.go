//go:build !linux

package main

import "syscall"

// withParent cannot tie a child to this process on this system.
func withParent() *syscall.SysProcAttr { return nil }
