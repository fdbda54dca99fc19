package embedded

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Exit codes of the child that its parent interprets.
const (
	exitStopped = 0  // as requested
	exitFailed  = 70 // the server ended by itself
	exitLibrary = 78 // the library cannot be loaded
)

// brokenLibrary begins the child's line about a library that cannot be loaded.
const brokenLibrary = "cannot load the ClickHouse library: "

// fragileLibrary begins the child's line about a library whose error handler
// cannot be replaced.
const fragileLibrary = "clients that reset a connection will end this ClickHouse: "

// init turns a process started by startChild into the server it should become,
// before anything else of the program runs, whatever the program is: preismon,
// `go run`, or a test binary.
func init() {
	value, ok := os.LookupEnv(childVariable)
	if !ok {
		return
	}
	// The library runs on the main thread, whose stack is the largest, and the
	// parent-death signal of a guarded program is bound to the thread that
	// started it: neither may move.
	runtime.LockOSThread()
	var spec childSpec
	if err := json.Unmarshal([]byte(value), &spec); err != nil {
		fail(exitFailed, "read %s: %v", childVariable, err)
	}
	if spec.Nice > 0 {
		yieldTo(spec.Nice)
	}
	orphaned := make(chan struct{})
	go func() {
		// Nothing is ever written: the read returns when the parent's end is
		// closed, if need be by the kernel.
		_, _ = parentPipe().Read(make([]byte, 1))
		close(orphaned)
	}()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	// SIGPIPE too: in a thread of the library, unlike in one of Go's, it would
	// end the process whenever a client disconnects while an answer is being
	// written.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	if spec.Library != "" {
		runLibrary(spec, orphaned, terminated)
	}
	runProgram(spec, orphaned, terminated)
}

func fail(code int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	syscall.Exit(code)
}

// runProgram starts a program and guards it: it receives our SIGTERM, and it
// ends when we or our parent are killed.
func runProgram(spec childSpec, orphaned <-chan struct{}, terminated <-chan os.Signal) {
	cmd := exec.Command(spec.Program, spec.Args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, childVariable) })
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = guardedProcess()
	if err := cmd.Start(); err != nil {
		fail(exitFailed, "start %s: %v", spec.Program, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			fail(exitFailed, "%s ended: %v", spec.Program, err)
		}
		os.Exit(exitFailed) // a server does not end by itself
	case <-terminated:
		_ = terminate(cmd.Process)
		select {
		case <-ended:
		case <-orphaned:
			_ = cmd.Process.Kill()
			<-ended
		}
	case <-orphaned:
		_ = terminate(cmd.Process)
		select {
		case <-ended:
		case <-time.After(time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if spec.Remove != "" {
			_ = os.RemoveAll(spec.Remove)
		}
	}
	os.Exit(exitStopped)
}
