package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"preismon/deploy/embedded"
)

// nodeURL is the issuer of the tokens; nothing connects to it.
const (
	nodeHost = "bench.invalid"
	nodeURL  = "http://" + nodeHost
)

// node is a preismon in a child process.
type node struct {
	cmd        *exec.Cmd
	url, admin string // of a query service
	ended      chan struct{}
	err        error // of its end
}

// start starts preismon, and waits until it writes the text that says it is
// ready, in the line that is returned. The child ends when this process ends, for
// whatever reason: the kernel ties it to the thread that started it.
func (w *world) start(ctx context.Context, ready string, env []string, args ...string) (n *node, line string, err error) {
	cmd := exec.Command(w.cfg.Program, args...)
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), env...), withParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	cmd.Stderr = cmd.Stdout
	n = &node{cmd: cmd, ended: make(chan struct{})}
	started, running, last := make(chan error), make(chan string, 1), ""
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(n.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			last = lines.Text()
			w.cfg.Logger.Debug(args[0], "says", last)
			if strings.Contains(last, ready) && len(running) == 0 {
				running <- last
			}
		}
		n.err = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, "", err
	}
	select {
	case line := <-running:
		return n, line, nil
	case <-n.ended:
	case <-time.After(3 * time.Minute):
	case <-ctx.Done():
	}
	err = n.stop()
	return nil, "", fmt.Errorf("`preismon %s` did not become ready: %w", args[0], errors.Join(err, errors.New(last)))
}

func (n *node) pid() int { return n.cmd.Process.Pid }

// stop ends the process, and returns its error.
func (n *node) stop() error {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(time.Minute):
		_ = n.cmd.Process.Kill()
		<-n.ended
	}
	return n.err
}

// up runs `preismon up` on a folder; when it is ready, something is done.
func (r *run) up(ctx context.Context, folder string, do func(*node), flags ...string) {
	n, _, err := r.world.start(ctx, "everything published so far can be queried", nil,
		append([]string{"up", "--data-dir", folder, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, flags...)...)
	if !r.failed(err) {
		do(n)
		r.failed(n.stop())
	}
}

// serve starts the query service on a database. It remembers no text of
// streams, which are repeated only to be measured.
func (r *run) serve(ctx context.Context, database string) {
	r.serveAs(ctx, database, database, "--remember-streams", "0")
}

// serveAs starts a query service under a name.
func (r *run) serveAs(ctx context.Context, name, database string, flags ...string) {
	w := r.world
	if r.err != nil || w.nodes[name] != nil {
		return
	}
	n, text, err := w.start(ctx, `"msg":"query service runs"`,
		[]string{"PREISMON_CLICKHOUSE_DSN=" + w.dsn(embedded.QueryUser, database), "PREISMON_NATS_URL=" + w.natsURL, "PREISMON_CURSOR_KEY=" + w.cursors},
		append([]string{
			"query", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--base-url", nodeURL,
			"--token-key", w.keyFile, "--reads-per-minute", "100000000", "--heavy-at-once", "1000", "--log-format", "json",
		}, flags...)...)
	if r.failed(err) {
		return
	}
	w.nodes[name] = n
	var line struct{ Listen, Admin string }
	r.failed(json.Unmarshal([]byte(text), &line))
	n.url, n.admin = "http://"+line.Listen, "http://"+line.Admin
	for { // until tokens are accepted
		if resp, err := w.http.Get(n.admin + "/readyz"); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if r.failed(pause(ctx, 20*time.Millisecond)) {
			return
		}
	}
}
