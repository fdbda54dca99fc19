//go:build !static && !windows

package embedded

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// loads: this build can load the library. It then needs the C library of the
// system at every start, whatever it is started for.
const loads = true

// collectAfter is how long after the start the child's memory is collected.
const collectAfter = 300 * time.Millisecond

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
