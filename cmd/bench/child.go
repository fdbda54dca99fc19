package main

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// startTied starts a child that gets a signal when this process ends, for
// whatever reason. The kernel ties it to the thread that started it, so the
// thread is kept until release is called, after the child has ended.
func startTied(cmd *exec.Cmd, signal syscall.Signal) (release func(), err error) {
	cmd.SysProcAttr = withParent(signal)
	started, over := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		<-over
	}()
	release = sync.OnceFunc(func() { close(over) })
	if err := <-started; err != nil {
		release()
		return nil, err
	}
	return release, nil
}
