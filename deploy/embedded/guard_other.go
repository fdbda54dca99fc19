//go:build !linux && !windows

package embedded

import "syscall"

// guardedProcess does nothing: outside Linux there is no parent-death signal.
// The program is still ended when preismon dies, but not if only its guard is
// killed.
func guardedProcess() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
