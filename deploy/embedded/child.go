package embedded

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Exit codes of the child that its parent understands.
const (
	exitStopped = 0  // asked to
	exitFailed  = 70 // the server ended by itself
	exitLibrary = 78 // the library cannot be loaded
)

// collectAfter is how long after the start the child's memory is collected.
const collectAfter = 300 * time.Millisecond

// fragileLibrary begins the child's line about a library that is another than we know.
const fragileLibrary = "clients that reset a connection will end this ClickHouse: "

// brokenLibrary begins the child's line about a library that cannot be loaded.
const brokenLibrary = "cannot load the ClickHouse library: "

// init turns a process started by startChild into the server it is asked to be,
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
	orphaned := make(chan struct{})
	go func() {
		// Nobody writes: the read returns when the parent's end is closed,
		// by the kernel if need be.
		_, _ = os.NewFile(3, "parent").Read(make([]byte, 1))
		close(orphaned)
	}()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	// SIGPIPE too: in a thread of the library, unlike in one of Go's, it would end
	// the process whenever a client leaves while an answer is written.
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

// runLibrary becomes ClickHouse. An end is immediate by exit: whoever stops the
// server has stopped writing before, and data written is safe even against
// kill -9, so an orderly shutdown of the engine would only take time. It is
// syscall.Exit and not os.Exit: with the race detector that one takes a second more.
func runLibrary(spec childSpec, orphaned <-chan struct{}, terminated <-chan os.Signal) {
	go func() {
		select {
		case <-terminated:
			syscall.Exit(exitStopped)
		case <-orphaned:
			if spec.Remove != "" {
				_ = os.RemoveAll(spec.Remove)
				_ = os.RemoveAll(spec.Remove) // what the engine wrote meanwhile
			}
			syscall.Exit(exitStopped)
		}
	}()
	lib, err := purego.Dlopen(spec.Library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		fail(exitLibrary, "%s%v", brokenLibrary, err)
	}
	for _, symbol := range []string{"chdb_query_cmdline", "chdb_result_error"} {
		if _, err := purego.Dlsym(lib, symbol); err != nil {
			fail(exitLibrary, "%s%v", brokenLibrary, err)
		}
	}
	// The engine's own handlers would take SIGTERM and SIGINT from us.
	if _, err := purego.Dlsym(lib, "chdb_set_signal_handlers_enabled"); err == nil {
		var enable func(int32)
		purego.RegisterLibFunc(&enable, lib, "chdb_set_signal_handlers_enabled")
		enable(0)
	}
	if err := keepServing(spec.Library); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", fragileLibrary, err)
	}
	var run func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	var message func(result unsafe.Pointer) string
	purego.RegisterLibFunc(&run, lib, "chdb_query_cmdline")
	purego.RegisterLibFunc(&message, lib, "chdb_result_error")
	argv := make([]*byte, len(spec.Args)+1) // ends with nil, as C wants it
	var pin runtime.Pinner
	for i, arg := range spec.Args {
		b := append([]byte(arg), 0)
		pin.Pin(&b[0])
		argv[i] = &b[0]
	}
	pin.Pin(&argv[0])
	// A collection while the engine runs: what the start needed is given back,
	// and a mistake about who keeps the arguments shows now, not in two minutes.
	time.AfterFunc(collectAfter, runtime.GC)
	result := run(int32(len(spec.Args)), unsafe.Pointer(&argv[0]))
	pin.Unpin() // here, not before: a pinner that is collected while run uses its arguments ends the process
	text := "no reason given"
	if result != nil {
		if m := message(result); m != "" {
			text = m
		}
	}
	fail(exitFailed, "ClickHouse ended: %s", text)
}

// runProgram starts a program and guards it: it gets our SIGTERM, and it ends
// when we are killed or our parent is.
func runProgram(spec childSpec, orphaned <-chan struct{}, terminated <-chan os.Signal) {
	cmd := exec.Command(spec.Program, spec.Args...)
	for _, v := range os.Environ() {
		if len(v) < len(childVariable) || v[:len(childVariable)] != childVariable {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = guardedProcess()
	if err := cmd.Start(); err != nil {
		fail(exitFailed, "start %s: %v", spec.Program, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	code := exitStopped
	select {
	case err := <-ended:
		if err != nil {
			fail(exitFailed, "%s ended: %v", spec.Program, err)
		}
		os.Exit(exitFailed) // a server does not end by itself
	case <-terminated:
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-orphaned:
			_ = cmd.Process.Kill()
			<-ended
		}
	case <-orphaned:
		_ = cmd.Process.Signal(syscall.SIGTERM)
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
	os.Exit(code)
}
