package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// childVariable marks a process as one of ours that must run a server. Its value
// is a childSpec as JSON.
const childVariable = "PREISMON_CLICKHOUSE_CHILD"

// childSpec is what the child process must become: the ClickHouse library called
// in the process itself, or a program that it starts and guards.
type childSpec struct {
	Library string   `json:"library,omitempty"` // path of libchdb.so; then Args is its command line
	Program string   `json:"program,omitempty"` // path of a program; then Args are its arguments
	Args    []string `json:"args"`
	Nice    int      `json:"nice,omitempty"`   // its nice value, from 0 to 19, which is served last
	Remove  string   `json:"remove,omitempty"` // folder to delete when the parent is gone
}

// ProcessConfig describes a server program that must not outlive this process.
type ProcessConfig struct {
	Program string   // path of the program
	Args    []string // its arguments, without the program's name
	Env     []string // more variables, NAME=value
	LogFile string   // receives its standard output and error; replaced at start
	Remove  string   // folder to delete when this process ends without Stop; empty for none
	Grace   time.Duration
}

// Process is a server in a child process. The child ends when this process does,
// for whatever reason: it watches a pipe whose other end only this process
// holds.
type Process struct {
	cmd   *exec.Cmd
	pipe  *os.File
	grace time.Duration
	done  chan struct{}
	err   error // valid after done is closed
	stop  sync.Once
}

// StartProcess starts a program that ends with this process.
func StartProcess(cfg ProcessConfig) (*Process, error) {
	return startChild(childSpec{Program: cfg.Program, Args: cfg.Args, Remove: cfg.Remove}, cfg.Env, cfg.LogFile, cfg.Grace)
}

func startChild(spec childSpec, env []string, logFile string, grace time.Duration) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own program to start a child process: %w", err)
	}
	environ, err := spec.environ()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of a child process: %w", err)
	}
	defer out.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe a child process watches: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(self)
	cmd.Args = []string{self, "(server child process)"}
	cmd.Env = append(environ, env...)
	cmd.Stdout, cmd.Stderr = out, out
	watchParent(cmd, r)
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("start a child process: %w", err)
	}
	if grace <= 0 {
		grace = 10 * time.Second
	}
	p := &Process{cmd: cmd, pipe: w, grace: grace, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// environ returns the spec, and the part of our environment that a server needs,
// and no more: our variables may hold passwords and tokens.
func (s childSpec) environ() ([]string, error) {
	value, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	env := []string{childVariable + "=" + string(value), "TZ=UTC"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env, nil
}

// PID returns the process id of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the child with SIGKILL and does not wait. Killing an ended child is
// not an error, and never hits another process that has got its number.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Done is closed when the child has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the child: with SIGTERM where that exists, and with SIGKILL when the
// grace period or ctx is over. It returns when the child is gone. Stopping an
// ended child is not an error.
func (p *Process) Stop(ctx context.Context) error {
	var err error
	p.stop.Do(func() {
		defer p.pipe.Close()
		select {
		case <-p.done:
			return
		default:
		}
		_ = terminate(p.cmd.Process)
		timer := time.NewTimer(p.grace)
		defer timer.Stop()
		select {
		case <-p.done:
			return
		case <-timer.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		_ = p.cmd.Process.Kill()
	})
	<-p.done
	return err
}

// ended returns in words how the child ended; call it only after Done.
func (p *Process) ended() string {
	if p.err == nil {
		return "ended by itself"
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return "ended with " + exit.String()
	}
	return p.err.Error()
}

// tail returns the last bytes of a file as one trimmed text.
func tail(path string, n int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > n {
		_, _ = f.Seek(-n, 2)
	}
	buf := make([]byte, n)
	k, _ := f.Read(buf)
	return strings.TrimSpace(string(buf[:k]))
}
