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

// loads is whether this build can load the library. One that can needs the C
// library of the system at every start, whatever it is started for.
const loads = true

// collectAfter is how long after the start garbage is collected in the child.
const collectAfter = 300 * time.Millisecond

// runLibrary becomes ClickHouse. It ends by an immediate exit: a caller that
// stops the server has stopped writing before, and data already written is safe
// even against kill -9, so an orderly shutdown of the engine would only take
// time. It uses syscall.Exit and not os.Exit, which takes a second longer with
// the race detector.
func runLibrary(spec childSpec, orphaned <-chan struct{}, terminated <-chan os.Signal) {
	go func() {
		select {
		case <-terminated:
			syscall.Exit(exitStopped)
		case <-orphaned:
			if spec.Remove != "" {
				_ = os.RemoveAll(spec.Remove)
				_ = os.RemoveAll(spec.Remove) // what the engine wrote in the meantime
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
	// The engine's own handlers would take SIGTERM and SIGINT away from us.
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
	argv := make([]*byte, len(spec.Args)+1) // ends with nil, as C expects
	var pin runtime.Pinner
	for i, arg := range spec.Args {
		b := append([]byte(arg), 0)
		pin.Pin(&b[0])
		argv[i] = &b[0]
	}
	pin.Pin(&argv[0])
	// A collection while the engine runs returns the memory that the start
	// needed, and a mistake about who keeps the arguments shows now, not in two
	// minutes.
	time.AfterFunc(collectAfter, runtime.GC)
	result := run(int32(len(spec.Args)), unsafe.Pointer(&argv[0]))
	pin.Unpin() // here, not before: if a pinner is collected while run uses its arguments, the process ends
	text := "no reason given"
	if result != nil {
		if m := message(result); m != "" {
			text = m
		}
	}
	fail(exitFailed, "ClickHouse ended: %s", text)
}
