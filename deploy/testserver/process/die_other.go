//go:build !linux

package process

import "os/exec"

// DieWithTest does nothing here.
func DieWithTest(*exec.Cmd) {}
