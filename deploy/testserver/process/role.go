package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Role is a process of preismon. Its methods are safe for concurrent use.
type Role struct {
	Args []string
	Env  []string      // added to the test's own, from the next start on
	In   *os.File      // standard input; nil: nothing
	Asks time.Duration // limit of a request to its operators' surface

	tb  testing.TB
	log string // file, for all its starts

	starting      sync.Mutex
	mu            sync.Mutex
	cmd           *exec.Cmd
	ended         chan struct{}
	ran           bool // it has printed its addresses
	listen, admin string
}

// New prepares a role; nothing runs yet. It is killed at the end of the test,
// which shows the end of its log if it failed.
func New(tb testing.TB, args ...string) *Role {
	tb.Helper()
	r := &Role{Args: args, Asks: 10 * time.Second, tb: tb, log: filepath.Join(tb.TempDir(), args[0]+".log")}
	tb.Cleanup(func() {
		r.Kill()
		if tb.Failed() {
			text := r.Written()
			tb.Logf("warnings of %s, the last:\n%s", args[0], lastWarnings(text))
			tb.Logf("end of the log of %s:\n%s", args[0], text[max(0, len(text)-6000):])
		}
	})
	return r
}

// Start prepares a role and starts it.
func Start(tb testing.TB, args ...string) *Role {
	tb.Helper()
	r := New(tb, args...)
	if err := r.Start(); err != nil {
		tb.Fatal(err)
	}
	return r
}

// lastWarnings returns the last lines of a log above INFO.
func lastWarnings(text string) string {
	var found []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"level":"INFO"`) && !strings.Contains(line, `"level":"DEBUG"`) {
			found = append(found, line)
		}
	}
	return strings.Join(found[max(0, len(found)-40):], "")
}

// Start starts the role, unless it runs, and waits until it prints its
// addresses.
func (r *Role) Start() error {
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.runs() {
		return nil
	}
	name, err := Program()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd, ended := exec.Command(name, r.Args...), make(chan struct{})
	cmd.Env = append(Environment(), r.Env...)
	if r.In != nil {
		cmd.Stdin = r.In
	}
	DieWithTest(cmd)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = log.Close()
		return err
	}
	type addresses struct{ Listen, Admin string }
	said := make(chan addresses, 1)
	go func() {
		defer close(ended)
		for in := bufio.NewReader(stderr); ; {
			text, err := in.ReadBytes('\n')
			_, _ = log.Write(text)
			var line addresses
			if json.Unmarshal(text, &line) == nil && line.Admin != "" {
				select {
				case said <- line:
				default: // it has printed them before
				}
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait()
		_ = log.Close()
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cmd, r.ended, r.ran = cmd, ended, false
	select {
	case l := <-said:
		r.ran, r.listen, r.admin = true, l.Listen, l.Admin
		return nil
	case <-ended:
		return fmt.Errorf("%s ended at once", r.Args[0])
	case <-time.After(time.Minute):
		return fmt.Errorf("%s does not run after a minute", r.Args[0])
	}
}

func (r *Role) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// Written returns its log so far.
func (r *Role) Written() string {
	text, _ := os.ReadFile(r.log)
	return string(text)
}

// Listen returns the address of its public surface at its last start; "" if it
// has none.
func (r *Role) Listen() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listen
}

// Admin returns the address of its operators' surface at its last start.
func (r *Role) Admin() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.admin
}

// URL returns that of its public surface.
func (r *Role) URL() string { return "http://" + r.Listen() }

// PID returns that of the process that was started last.
func (r *Role) PID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cmd.Process.Pid
}

// Ended is closed when the process that was started last has ended.
func (r *Role) Ended() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// Signal sends a signal, which has no effect if the process has ended or was
// never started.
func (r *Role) Signal(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(s)
	}
}

// Exited reports whether the process that was started last has run and then
// ended by itself, that is, was not killed.
func (r *Role) Exited() bool {
	if r.runs() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran && r.cmd.ProcessState.Exited()
}

// Kill does kill -9, and returns when the process is gone.
func (r *Role) Kill() {
	r.Signal(syscall.SIGKILL)
	if ended := r.Ended(); ended != nil {
		<-ended
	}
}

// Stop asks the process to end, and waits until it has, cleanly.
func (r *Role) Stop() error {
	r.Signal(syscall.SIGTERM)
	return r.Stopped()
}

// Stopped waits until the process has ended after a SIGTERM, cleanly.
func (r *Role) Stopped() error {
	select {
	case <-r.Ended():
	case <-time.After(time.Minute):
		return fmt.Errorf("%s has not ended a minute after SIGTERM", r.Args[0])
	}
	if code := r.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d of %s after SIGTERM", code, r.Args[0])
	}
	return nil
}

// ExitCode returns that of the process that was started last and has ended; -1
// after a signal.
func (r *Role) ExitCode() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cmd.ProcessState.ExitCode()
}
