package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"preismon/contracts/atomicfile"
)

// ClickHouse is a server in a child process, on free ports of 127.0.0.1.
type ClickHouse struct {
	cfg       ClickHouseConfig
	program   string // path; empty: the library is used
	library   string // its path
	tcp, http int
	passwords map[string]string
	process   atomic.Pointer[Process] // the latest
}

// These are failures of a starting server that a second try may fix.
var (
	errPort    = errors.New("the port was taken")
	errBusy    = errors.New("its folder is still in use by another ClickHouse")
	errLibrary = errors.New("its library does not load")
)

// StartClickHouse starts a server and returns when it answers queries and its
// database exists. It prefers a clickhouse program on PATH and otherwise uses
// the library, which it fetches if necessary. Cancel ctx to give up; after
// StartClickHouse has returned, the server lives until Stop or the end of this
// process.
func StartClickHouse(ctx context.Context, cfg ClickHouseConfig) (*ClickHouse, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.Library.Logger = cmp.Or(cfg.Library.Logger, cfg.Logger)
	cfg.Database = cmp.Or(cfg.Database, DefaultDatabase)
	cfg.LogLevel = cmp.Or(cfg.LogLevel, "information")
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	cfg.Dir = dir
	cfg.Backups = cmp.Or(cfg.Backups, filepath.Join(dir, "backups"))
	for _, d := range []string{"", "data", "logs", "backups", "user_files", "format_schemas"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of ClickHouse: %w", err)
		}
	}
	passwords, err := loadSecrets(filepath.Join(dir, "passwords.json"), AdminUser, ProjectorUser, QueryUser)
	if err != nil {
		return nil, err
	}
	program := ""
	if !cfg.NoProgram {
		program = findProgram(ctx, cfg.Logger)
	}
	library := ""
	if program == "" {
		if library, err = cfg.Library.Ensure(ctx); err != nil {
			return nil, err
		}
	}
	ch := &ClickHouse{cfg: cfg, passwords: passwords, program: program, library: library}
	refetched := false
	for try := 1; ; try++ {
		ports, err := FreePorts(2)
		if err != nil {
			return nil, fmt.Errorf("find free ports for ClickHouse: %w", err)
		}
		ch.tcp, ch.http = cmp.Or(cfg.TCPPort, ports[0]), ports[1]
		err = ch.launch(ctx)
		switch {
		case err == nil:
			return ch, nil
		case errors.Is(err, errPort) && try < 10:
		case errors.Is(err, errLibrary) && !refetched:
			refetched = true
			replaced, fetchErr := cfg.Library.Refetch(ctx)
			if fetchErr != nil {
				return nil, fmt.Errorf("the cached ClickHouse library is damaged and cannot be fetched again: %w", fetchErr)
			}
			if !replaced {
				return nil, fmt.Errorf("the ClickHouse library is the right one but does not load on this system (it needs glibc); %s: %w", getProgram(runtime.GOOS), err)
			}
		default:
			return nil, err
		}
	}
}

// launch starts the server on its ports, as soon as an earlier one has left the folder.
func (c *ClickHouse) launch(ctx context.Context) error {
	if c.program == "" {
		// When the library ends, it forgets the tables of the database system,
		// but not their folders, and then cannot recreate the query log.
		if err := os.RemoveAll(c.path("data/data/system")); err != nil {
			return fmt.Errorf("remove the logs of the last run: %w", err)
		}
	}
	for try := 1; ; try++ {
		err := c.start(ctx)
		if !errors.Is(err, errBusy) || try == 40 {
			return err
		}
		// The server of a process that was just killed is about to end.
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// findProgram returns a usable clickhouse program on PATH, or "".
func findProgram(ctx context.Context, logger *slog.Logger) string {
	path, err := exec.LookPath("clickhouse")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "server", "--version").Output()
	m := regexp.MustCompile(`version (\d+)\.(\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		logger.Warn("the clickhouse program on PATH does not run and is not used", "path", path)
		return ""
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	if slices.Compare([]int{major, minor}, oldestProgram[:]) < 0 {
		logger.Warn("the clickhouse program on PATH is too old and is not used", "path", path, "version", string(m[0]),
			"oldest", fmt.Sprintf("%d.%d", oldestProgram[0], oldestProgram[1]))
		return ""
	}
	return path
}

// yields is the nice value of ClickHouse: each thread gets about a third of the
// share of other threads. It has dozens that compute, while a query node needs a
// processor for a moment at a time; without it a login took 18 seconds under
// load instead of 2 (decision 012).
const yields = 5

func (c *ClickHouse) start(ctx context.Context) (err error) {
	if err := c.writeConfig(c.library != ""); err != nil {
		return fmt.Errorf("write the configuration of ClickHouse: %w", err)
	}
	spec := childSpec{Program: c.program, Args: []string{"server", "--config-file=" + c.path("config.xml")}}
	if c.library != "" {
		spec = LibraryServer{
			Library: c.library, Data: c.path("data"), Config: c.path("config.xml"), LogLevel: c.cfg.LogLevel, Listen: "127.0.0.1", TCPPort: c.tcp, HTTPPort: c.http,
		}.spec()
	}
	spec.Remove, spec.Nice = c.cfg.Remove, yields
	process, err := startChild(spec, nil, c.path(outputLog), c.cfg.Grace)
	if err != nil {
		return err
	}
	c.process.Store(process)
	if err := c.ready(ctx); err != nil {
		_ = c.kill()
		return err
	}
	if err := c.exec(ctx, "CREATE DATABASE IF NOT EXISTS "+c.cfg.Database); err != nil {
		_ = c.kill()
		return fmt.Errorf("make the database %s: %w", c.cfg.Database, err)
	}
	if why := c.fragile(); why != "" {
		c.cfg.Logger.Warn("this ClickHouse ends when a client resets a connection or sends a wrong password; a clickhouse program on PATH does not", "reason", why)
	}
	return nil
}

// fragile returns why the library's error handler could not be replaced: see
// keepServing. Empty: it was, or there is no library.
func (c *ClickHouse) fragile() string {
	output, _ := os.ReadFile(c.path(outputLog)) // of a server that has just started
	_, why, _ := strings.Cut(string(output), fragileLibrary)
	return firstLine(why)
}

func (c *ClickHouse) kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return c.Stop(ctx)
}

func (c *ClickHouse) path(name string) string { return filepath.Join(c.cfg.Dir, name) }

// FreePorts returns ports that were free a moment ago.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // held until all are chosen
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func (c *ClickHouse) writeConfig(library bool) error {
	values := serverFiles{
		LogLevel: c.cfg.LogLevel, Dir: c.cfg.Dir, Data: c.path("data"), Backups: c.cfg.Backups, Logs: c.path("logs"), Users: c.path("users.xml"),
		Listen: "127.0.0.1", From: "127.0.0.1", TCPPort: c.tcp, HTTPPort: c.http,
		MemoryLimit: c.cfg.MemoryLimit, ExtraConfig: c.cfg.ExtraConfig, Library: library,
		Databases: []string{c.cfg.Database},
	}
	values.passwords(c.passwords)
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Settings)) {
		values.Settings = append(values.Settings, serverSetting{name, xmlText(c.cfg.Settings[name])})
	}
	if c.cfg.GrantAlso != "" {
		values.Databases = append(values.Databases, c.cfg.GrantAlso)
	}
	config, users, err := values.render()
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(c.path("config.xml"), config), atomicfile.Write(c.path("users.xml"), users))
}

// probeLimit bounds one probe of whether the server answers.
const probeLimit = 2 * time.Second

// ready waits until the server answers on both ports, or returns why it does not.
func (c *ClickHouse) ready(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	pause := 5 * time.Millisecond
	for {
		// Each probe has its own limit: another program on that port may accept
		// the connection and say nothing.
		probe, done := context.WithTimeout(wait, probeLimit)
		err := c.exec(probe, "SELECT 1")
		done()
		if err == nil {
			var conn net.Conn
			if conn, err = net.DialTimeout("tcp", c.address(c.tcp), time.Second); err == nil {
				_ = conn.Close()
				return nil
			}
		}
		select {
		case <-c.Done():
			return c.diagnose()
		case <-wait.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("starting ClickHouse was interrupted: %w", context.Cause(ctx))
			}
			return fmt.Errorf("ClickHouse did not answer within a minute (%w); the end of its log:\n%s", err, c.logTail())
		case <-time.After(pause):
			pause = min(2*pause, 100*time.Millisecond)
		}
	}
}

// diagnose turns the last output of an ended child into an error.
func (c *ClickHouse) diagnose() error {
	output := tail(c.path(outputLog), 4096)
	has := func(s string) bool { return strings.Contains(output, s) }
	switch {
	case has("Address already in use"):
		return fmt.Errorf("ClickHouse could not listen on 127.0.0.1: %w", errPort)
	case has("CANNOT_OPEN_FILE") && has("status") || has("Another server instance in same directory is already running"):
		return fmt.Errorf("ClickHouse cannot use %s: %w", c.cfg.Dir, errBusy)
	case has(brokenLibrary), strings.HasSuffix(c.process.Load().ended(), "signal: bus error"), strings.HasSuffix(c.process.Load().ended(), "signal: segmentation fault"):
		return fmt.Errorf("ClickHouse did not start (%s): %w", firstLine(output), errLibrary)
	case has("No space left on device"):
		return fmt.Errorf("ClickHouse did not start because the disk of %s is full; free space there", c.cfg.Dir)
	}
	return fmt.Errorf("ClickHouse %s while starting; the end of its log:\n%s", c.process.Load().ended(), c.logTail())
}

// stackFrame matches a line of ClickHouse's stack traces, which have no symbols.
var stackFrame = regexp.MustCompile(`(?m)^\d+\. .* @ 0x[0-9a-f]+\n?|, Stack trace \(when copying.*$`)

func (c *ClickHouse) logTail() string {
	out := tail(c.path(outputLog), 2048)
	if log := tail(c.path("logs/clickhouse.errors.log"), 2048); log != "" {
		out += "\n" + log
	}
	return strings.TrimSpace(stackFrame.ReplaceAllString(out, ""))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (c *ClickHouse) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// exec runs a statement as the administrator and discards its result.
func (c *ClickHouse) exec(ctx context.Context, statement string) error {
	return c.Run(ctx, AdminUser, statement, nil, io.Discard)
}

// Run runs a statement over HTTP as one of the three users and writes its
// result. values are settings, parameters (param_name) and database. If the
// server refuses the statement, its message is the error.
func (c *ClickHouse) Run(ctx context.Context, user, statement string, values url.Values, to io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.HTTPURL()+"?"+values.Encode(), strings.NewReader(statement))
	if err != nil {
		return err
	}
	req.Header.Set("X-ClickHouse-User", user)
	req.Header.Set("X-ClickHouse-Key", c.passwords[user])
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		_, err := io.Copy(to, resp.Body)
		return err
	}
	said, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	return errors.New(strings.TrimSpace(string(said)))
}

// DSN returns the address for clickhouse-go of one of the three users, native
// protocol. An empty database means the one of the configuration.
func (c *ClickHouse) DSN(user, database string) string {
	u := url.URL{Scheme: "clickhouse", User: url.UserPassword(user, c.passwords[user]), Host: c.address(c.tcp), Path: "/" + cmp.Or(database, c.cfg.Database)}
	return u.String()
}

// Password returns the password of one of the three users.
func (c *ClickHouse) Password(user string) string { return c.passwords[user] }

// HTTPURL returns the address of the HTTP interface, without credentials.
func (c *ClickHouse) HTTPURL() string { return "http://" + c.address(c.http) + "/" }

// Engine returns what is running: "clickhouse program" or "clickhouse library".
func (c *ClickHouse) Engine() string {
	if c.program != "" {
		return "clickhouse program"
	}
	return "clickhouse library"
}

// PID returns the process id of the server, or of the child that guards it.
func (c *ClickHouse) PID() int { return c.process.Load().PID() }

// Kill ends the server with SIGKILL and does not wait.
func (c *ClickHouse) Kill() { c.process.Load().Kill() }

// Done is closed when the current server has ended, for whatever reason.
func (c *ClickHouse) Done() <-chan struct{} { return c.process.Load().Done() }

// Stop ends the server and returns when it is gone. Data already written is safe.
func (c *ClickHouse) Stop(ctx context.Context) error {
	if err := c.process.Load().Stop(ctx); err != nil {
		return fmt.Errorf("stop ClickHouse: %w", err)
	}
	return nil
}
