package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/ingest"
)

// The tests of this package run the command as its users do: as a separate
// process. The test binary itself is the command when commandVariable is set: to
// piped where it has the pipe of command.
const (
	commandVariable = "PREISMON_TEST_MAIN"
	piped           = "1"
)

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) == "" {
		process.Program = os.Executable
		os.Exit(m.Run())
	}
	if os.Getenv(commandVariable) == piped {
		// The pipe at file descriptor 3 is closed when the test process ends,
		// however it ends.
		syscall.CloseOnExec(3)
		go func() {
			_, _ = os.NewFile(3, "test process").Read(make([]byte, 1))
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// command prepares the command as a process in its own group, which ends with
// the test; env is added to process.Environment.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	binary := must.Get(os.Executable())(t)
	alive, ours, err := os.Pipe()
	must.Do(t, err)
	cmd := exec.Command(binary, args...)
	cmd.Env = append(append(process.Environment(), commandVariable+"="+piped), env...)
	cmd.ExtraFiles = []*os.File{alive}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill() // never by a bare pid, which may belong to another process by then
		}
		_ = errors.Join(alive.Close(), ours.Close())
	})
	return cmd
}

// preismon runs a command until it ends. The exit code is -1 after a signal.
func preismon(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, env, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("preismon %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// upReadyLimit is generous: other tests run at the same time.
const upReadyLimit = 4 * time.Minute

// upProcess is a `preismon up` that runs alongside the test.
type upProcess struct {
	t                      *testing.T
	DataDir, URL, AdminURL string
	Started                time.Time
	Ready                  time.Duration // from start to the ready line

	cmd            *exec.Cmd
	stdout, stderr *transcript
	ended          chan struct{} // closed after the end
	err            error         // of the end
}

// startUp starts `up` and waits until it is ready. Unless args say otherwise, the
// folder is new, the ports are free ones, and readers of tests, which do not rest,
// meet no limit.
func startUp(t *testing.T, args ...string) *upProcess {
	t.Helper()
	u := launchUp(t, nil, args...)
	u.awaitReady()
	return u
}

// launchUp is like startUp, with an environment and without waiting.
func launchUp(t *testing.T, env []string, args ...string) *upProcess {
	t.Helper()
	u := &upProcess{t: t, ended: make(chan struct{}), Started: time.Now()}
	all := []string{"up"}
	if u.DataDir = flagValue(args, "--data-dir"); u.DataDir == "" {
		u.DataDir = t.TempDir()
		all = append(all, "--data-dir", u.DataDir)
	}
	for _, preset := range [][2]string{{"--listen", "127.0.0.1:0"}, {"--admin-listen", "127.0.0.1:0"}, {"--reads-per-minute", "100000"}} {
		if flagValue(args, preset[0]) == "" {
			all = append(all, preset[:]...)
		}
	}
	u.cmd = command(t, env, append(all, args...)...)
	u.stdout, u.stderr = newTranscript(), newTranscript()
	u.cmd.Stdout, u.cmd.Stderr = u.stdout, u.stderr
	must.Do(t, u.cmd.Start())
	go func() {
		u.err = u.cmd.Wait()
		close(u.ended)
	}()
	t.Cleanup(func() { // before the folder is removed
		_ = u.cmd.Process.Kill()
		<-u.ended
		if t.Failed() {
			t.Logf("what failed in up on %s:\n%s\nend of its output:\n%s\n%s", u.DataDir, failures(u.stderr.String()), tail(u.stdout.String()), tail(u.stderr.String()))
			logs, _ := filepath.Glob(filepath.Join(u.DataDir, "clickhouse", "logs", "*"))
			for _, name := range logs {
				text, _ := os.ReadFile(name)
				t.Logf("end of %s:\n%s", name, tail(string(text)))
			}
		}
	})
	return u
}

// failures returns the first lines of a log that report requests that failed on
// the server's side.
func failures(log string) string {
	const most = 10
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"msg":"request failed"`) || strings.Contains(line, `"msg":"request panicked"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[:min(most, len(lines))], "")
}

// tail returns the last lines of a text.
func tail(text string) string {
	const most = 50
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// flagValue finds the value of --name VALUE or --name=VALUE.
func flagValue(args []string, name string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
		if a == name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// awaitReady waits for the line that begins with "ready".
func (u *upProcess) awaitReady() {
	u.t.Helper()
	select {
	case <-u.stdout.ready:
		u.Ready = time.Since(u.Started)
	case <-u.ended:
		u.t.Fatalf("up ended before it was ready: %v", u.err)
	case <-time.After(upReadyLimit):
		u.t.Fatalf("up is not ready after %v", upReadyLimit)
	}
	r := must.Get(embedded.ReadRuntime(u.DataDir))(u.t)
	u.URL, u.AdminURL = r.APIURL, r.AdminURL
}

// Output is what it has written so far, standard output before standard error.
func (u *upProcess) Output() string { return u.stdout.String() + u.stderr.String() }

// interrupt asks it to stop, as Ctrl-C does.
func (u *upProcess) interrupt() {
	u.t.Helper()
	must.Do(u.t, u.cmd.Process.Signal(os.Interrupt))
}

// kill9 kills the process and returns when it is gone. Processes that it
// started must notice by themselves.
func (u *upProcess) kill9() {
	u.t.Helper()
	must.Do(u.t, u.cmd.Process.Kill())
	<-u.ended
}

// wait waits for the end and returns the exit code; -1 after a signal.
func (u *upProcess) wait() int {
	u.t.Helper()
	select {
	case <-u.ended:
	case <-time.After(time.Minute):
		u.t.Fatal("up has not ended after a minute")
	}
	return u.cmd.ProcessState.ExitCode()
}

// transcript keeps what a process writes, and signals the line that begins with
// "ready".
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	seen  bool
	ready chan struct{}
}

func newTranscript() *transcript { return &transcript{ready: make(chan struct{})} }

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	if !o.seen && (bytes.HasPrefix(o.text.Bytes(), []byte("ready")) || bytes.Contains(o.text.Bytes(), []byte("\nready"))) {
		o.seen = true
		close(o.ready)
	}
	return len(b), nil
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// api is a client of the public surface.
type api struct {
	t     *testing.T
	url   string
	token string
	http  *http.Client

	prefer []string // header of its requests
}

// client returns a client without a login.
func (u *upProcess) client() *api {
	a := &api{t: u.t, url: u.URL}
	a.http = &http.Client{Timeout: 2 * time.Minute, Transport: openapitest.Transport(http.DefaultTransport, func(err error) { a.t.Error(err) })}
	return a
}

// login returns a client with the token of an account.
func (a *api) login(login, password string) *api {
	a.t.Helper()
	b := *a
	b.token = must.Get(a.at().Login(a.t.Context(), login, password))(a.t).Token
	return &b
}

// at is the client as it is now.
func (a *api) at() caller.Client {
	return caller.Client{HTTP: a.http, URL: a.url, Token: a.token}
}

func (a *api) request(path string, params url.Values) (*http.Response, error) {
	if len(params) > 0 {
		path += "?" + params.Encode()
	}
	return a.at().Send(a.t.Context(), http.MethodGet, path, nil, a.prefer...)
}

// get reads a complete answer, whatever its status. It may be called from
// several goroutines.
func (a *api) get(path string, params url.Values) (status int, body []byte) {
	got, err := caller.Read(a.request(path, params))
	if err != nil {
		a.t.Errorf("GET %s?%s: %v", path, params.Encode(), err)
	}
	if got.Response == nil {
		return 0, nil
	}
	return got.StatusCode, got.Text
}

// stream reads NDJSON line by line to its end. An answer that is not a stream,
// or not a complete one, is an error.
func (a *api) stream(path string, params url.Values, line func([]byte) error) (header, trailer http.Header, err error) {
	resp, err := a.request(path, params)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		return resp.Header, nil, fmt.Errorf("status %d: %s %w", resp.StatusCode, body, err)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 1<<20), 64<<20)
	for lines.Scan() {
		if err := line(lines.Bytes()); err != nil {
			return resp.Header, nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return resp.Header, nil, err
	}
	if resp.Trailer.Get("X-Results-Complete") != "true" {
		return resp.Header, resp.Trailer, fmt.Errorf("the stream ended without saying that it is complete: %v", resp.Trailer)
	}
	return resp.Header, resp.Trailer, nil
}

// bus connects to the NATS of up, bypassing the publisher.
func (u *upProcess) bus(t *testing.T) *bus {
	t.Helper()
	r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	b := must.Get(connect(ingest.Config{URL: r.NATSURL, Name: t.Name()}))(t)
	t.Cleanup(b.conn.Close)
	return b
}

// send publishes an event as any client of NATS does.
func (b *bus) send(t *testing.T, e *event.Event) {
	t.Helper()
	body := must.Get(event.Encode(e))(t)
	m := &nats.Msg{Subject: e.Subject(), Data: body, Header: nats.Header{jetstream.MsgIDHeader: {e.ID}}}
	must.Get(b.js.PublishMsg(t.Context(), m))(t)
}

// freeAddress returns an address of this machine where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = listener.Close()
	return listener.Addr().String()
}
