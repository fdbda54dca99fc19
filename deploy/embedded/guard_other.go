//go:build !linux && !windows

package embedded

import "syscall"

// guardedProcess: outside Linux there is no parent-death signal. The program is
// still ended when preismon dies, but not when its guard alone is killed.
func guardedProcess() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
