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
	"syscall"
	"time"

	"preismon/deploy/embedded"
)

// nodeURL is the issuer of the tokens; nothing connects to it.
const (
	nodeHost = "bench.invalid"
	nodeURL  = "http://" + nodeHost
)

// node is a `preismon query` in a child process.
type node struct {
	cmd        *exec.Cmd
	url, admin string
	ended      chan struct{}
}

// serve starts the query service on a database. It remembers no text of
// streams, which are repeated only to be measured.
func (w *world) serve(ctx context.Context, database string) error {
	return w.serveAs(ctx, database, database, "--remember-streams", "0")
}

// serveAs starts a query service under a name.
func (w *world) serveAs(ctx context.Context, name, database string, flags ...string) error {
	if w.nodes[name] != nil {
		return nil
	}
	cmd := exec.Command(w.cfg.Program, append([]string{
		"query", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--base-url", nodeURL,
		"--token-key", w.keyFile, "--reads-per-minute", "100000000", "--heavy-at-once", "1000", "--log-format", "json",
	}, flags...)...)
	cmd.Env = append(os.Environ(), "PREISMON_CLICKHOUSE_DSN="+w.dsn(embedded.QueryUser, database), "PREISMON_NATS_URL="+w.natsURL, "PREISMON_CURSOR_KEY="+w.cursors)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	release, err := startTied(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	n := &node{cmd: cmd, ended: make(chan struct{})}
	started := make(chan struct{})
	var last string
	go func() {
		defer close(n.ended)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			var line struct{ Msg, Listen, Admin string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "query service runs" {
				n.url, n.admin = "http://"+line.Listen, "http://"+line.Admin
				close(started)
			}
			last = lines.Text()
			w.cfg.Logger.Debug("query service", "says", last)
		}
		_ = cmd.Wait()
		release()
	}()
	select {
	case <-started:
	case <-n.ended:
		return fmt.Errorf("the query service did not start: %s", last)
	case <-time.After(30 * time.Second):
		n.stop()
		return errors.New("the query service did not start in time")
	}
	w.nodes[name] = n
	for { // until tokens are accepted
		resp, err := w.http.Get(n.admin + "/readyz")
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (n *node) stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(10 * time.Second):
		_ = n.cmd.Process.Kill()
		<-n.ended
	}
}
