package embedded_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2"

	"preismon/deploy/embedded"
)

// helperVariable makes the test binary a parent process for a test to kill.
const helperVariable = "PREISMON_TEST_EMBEDDED_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		parent(dir)
	}
	if config := os.Getenv(fakeVariable); config != "" {
		fakeClickHouse(config)
	}
	os.Exit(m.Run())
}

// parent runs what `preismon up` runs, says where, and waits to be killed.
func parent(dir string) {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	d, err := embedded.OpenDataDir(dir)
	check(err)
	ch, err := embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{Dir: d.Join("clickhouse"), NoProgram: true})
	check(err)
	check(d.WriteRuntime(embedded.Runtime{AdminDSN: ch.DSN(embedded.AdminUser, ""), ClickHouse: ch.PID()}))
	fmt.Println("pid", ch.PID())
	select {}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func startClickHouse(t testing.TB, cfg embedded.ClickHouseConfig) *embedded.ClickHouse {
	t.Helper()
	cfg.NoProgram = true
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	ch, err := embedded.StartClickHouse(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ch.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ch
}

func open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("clickhouse", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func count(t testing.TB, db *sql.DB, query string) uint64 {
	t.Helper()
	var n uint64
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// eventually polls until ok, and fails after the limit.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// gone says whether a process has ended, if only its new parent has not noticed yet.
func gone(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		return strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) == syscall.ESRCH
}

func TestClickHouseKeepsDataAfterKill(t *testing.T) {
	cfg := embedded.ClickHouseConfig{Dir: filepath.Join(t.TempDir(), "a & b", "clickhouse")}
	ch := startClickHouse(t, cfg)
	db := open(t, ch.DSN(embedded.AdminUser, ""))
	mustExec(t, db, "CREATE TABLE numbered (n UInt64) ENGINE = MergeTree ORDER BY n")
	projector := open(t, ch.DSN(embedded.ProjectorUser, ""))
	mustExec(t, projector, "INSERT INTO numbered SELECT number FROM numbers(100000)")
	if err := syscall.Kill(ch.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ch.Done()

	ch = startClickHouse(t, cfg)
	db = open(t, ch.DSN(embedded.AdminUser, ""))
	if n := count(t, db, "SELECT sum(n) FROM numbered"); n != 4999950000 {
		t.Errorf("sum after kill -9 and start: %d, want 4999950000", n)
	}
	began := time.Now()
	if err := ch.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Stop took %s", took)
	}
	if err := ch.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if !gone(ch.PID()) {
		t.Error("the child is there after Stop")
	}
}

// TestClickHouseSurvivesCollection: the child's garbage collector runs beside
// the engine, and once took its arguments away.
func TestClickHouseSurvivesCollection(t *testing.T) {
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: filepath.Join(t.TempDir(), "clickhouse")})
	select {
	case <-ch.Done():
		t.Fatal("the server ended by itself")
	case <-time.After(time.Second): // the child collects 300 ms after its start
	}
	if n := count(t, open(t, ch.DSN(embedded.AdminUser, "")), "SELECT 1"); n != 1 {
		t.Errorf("SELECT 1 gave %d", n)
	}
}

// TestClickHouseYields: the threads of the engine come after those of the
// roles beside it.
func TestClickHouseYields(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: filepath.Join(t.TempDir(), "clickhouse")})
	db := open(t, ch.DSN(embedded.AdminUser, ""))
	if n := count(t, db, "SELECT count() FROM numbers_mt(1000000) WHERE sipHash64(number) % 2 = 2"); n != 0 {
		t.Errorf("%d rows", n)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", ch.PID()))
	if err != nil {
		t.Fatal(err)
	}
	nice := map[string]int{} // how many threads have a value
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		_, fields, _ := strings.Cut(string(text), ") ") // from the third on, see proc(5)
		nice[strings.Fields(fields)[16]]++
	}
	if nice["5"] < 10 || nice["5"] < 2*nice["0"] { // one of the engine takes more where it may
		t.Errorf("threads by nice value: %v", nice)
	}
	t.Logf("threads by nice value: %v", nice)
}

// TestClickHouseLogsAfterRestart: the library leaves folders of its log
// tables behind, which once kept the next start from logging queries.
func TestClickHouseLogsAfterRestart(t *testing.T) {
	cfg := embedded.ClickHouseConfig{Dir: filepath.Join(t.TempDir(), "clickhouse")}
	for range 2 {
		ch := startClickHouse(t, cfg)
		db := open(t, ch.DSN(embedded.AdminUser, ""))
		mustExec(t, db, "SELECT 'a query to be logged'", "SYSTEM FLUSH LOGS")
		if n := count(t, db, "SELECT count() FROM system.query_log WHERE query LIKE '%to be logged%' AND type = 'QueryFinish'"); n == 0 {
			t.Error("the query is not in the log")
		}
		if err := ch.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClickHouseLogs(t *testing.T) {
	dir := t.TempDir()
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: dir, Settings: map[string]string{"max_threads": "3"}, MemoryLimit: 3 << 30})
	db := open(t, ch.DSN(embedded.AdminUser, ""))
	mustExec(t, db, "CREATE TABLE logged (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO logged VALUES (1)", "SYSTEM FLUSH LOGS")
	if count(t, db, "SELECT count() FROM system.query_log WHERE query LIKE 'INSERT INTO logged%' AND type = 'QueryFinish'") != 1 {
		t.Error("the insert is not in query_log")
	}
	if count(t, db, "SELECT count() FROM system.part_log WHERE table = 'logged' AND event_type = 'NewPart'") != 1 {
		t.Error("the part is not in part_log")
	}
	for query, want := range map[string]uint64{
		"SELECT toUInt64(value) FROM system.settings WHERE name = 'max_threads'":                     3,
		"SELECT toUInt64(value) FROM system.settings WHERE name = 'async_insert'":                    0,
		"SELECT toUInt64(value) FROM system.settings WHERE name = 'use_query_condition_cache'":       0,
		"SELECT toUInt64(value) FROM system.server_settings WHERE name = 'max_server_memory_usage'":  3 << 30,
		"SELECT toUInt64(value) FROM system.metrics WHERE metric = 'BackgroundSchedulePoolSize'":     8,
		"SELECT count() FROM system.settings WHERE name = 'timeout_overflow_mode' AND value='throw'": 1,
		"SELECT toUInt64(serverTimezone() = 'UTC')":                                                  1,
	} {
		if got := count(t, db, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	mustExec(t, db, "BACKUP DATABASE preismon TO File('one')", "DROP TABLE logged SYNC", "RESTORE DATABASE preismon FROM File('one')")
	if count(t, db, "SELECT count() FROM logged") != 1 {
		t.Error("the backup did not bring the row back")
	}
	for _, name := range []string{"passwords.json", "users.xml", "config.xml"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, st.Mode())
		}
	}
}

func TestClickHouseEndsWithItsParent(t *testing.T) {
	dir := t.TempDir()
	start := func() (*exec.Cmd, int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		line, err := bufio.NewReader(out).ReadString('\n')
		pid, isPID := strings.CutPrefix(strings.TrimSpace(line), "pid ")
		if err != nil || !isPID {
			t.Fatalf("the parent said %q, %v", line, err)
		}
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		return cmd, n
	}
	cmd, child := start()
	r, err := embedded.ReadRuntime(dir)
	if err != nil || r.PID != cmd.Process.Pid || r.ClickHouse != child {
		t.Fatalf("runtime of a running parent: %+v, %v", r, err)
	}
	if _, err := embedded.OpenDataDir(dir); err == nil || !strings.Contains(err.Error(), "in use by process "+strconv.Itoa(r.PID)) {
		t.Errorf("second start on the folder: %v", err)
	}
	mustExec(t, open(t, r.AdminDSN), "CREATE TABLE kept (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO kept VALUES (7)")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, 2*time.Second, "the child ends after kill -9 of its parent", func() bool { return gone(child) })
	if _, err := embedded.ReadRuntime(dir); err == nil {
		t.Error("the runtime file of a killed process is believed")
	}

	// At once again, before the old child may have let go of the folder.
	cmd, child = start()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, second := start()
	r, err = embedded.ReadRuntime(dir)
	if err != nil {
		t.Fatal(err)
	}
	if count(t, open(t, r.AdminDSN), "SELECT sum(n) FROM kept") != 7 {
		t.Error("the row is lost")
	}
	if gone(second) {
		t.Error("the second child is gone")
	}
	eventually(t, 2*time.Second, "the first child is gone", func() bool { return gone(child) })
}

func TestClickHouseUsers(t *testing.T) {
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: t.TempDir(), GrantAlso: "preismon_test_*"})
	admin := open(t, ch.DSN(embedded.AdminUser, ""))
	mustExec(t, admin, "CREATE DATABASE preismon_test_a", "CREATE DATABASE foreign",
		"CREATE TABLE preismon.t (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO preismon.t VALUES (1)",
		"CREATE TABLE preismon_test_a.t (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO preismon_test_a.t VALUES (1)",
		"CREATE TABLE foreign.t (n UInt64) ENGINE = MergeTree ORDER BY n")
	secret := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(secret, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, statement string
		refused         string // part of the error; empty: must work
	}{
		{embedded.QueryUser, "SELECT n FROM preismon.t", ""},
		{embedded.QueryUser, "SELECT n FROM preismon_test_a.t SETTINGS max_execution_time = 5, max_threads = 2, max_block_size = 1000", ""},
		{embedded.QueryUser, "SELECT n FROM foreign.t", "ACCESS_DENIED"},
		{embedded.QueryUser, "INSERT INTO preismon.t VALUES (2)", "ACCESS_DENIED"},
		{embedded.QueryUser, "CREATE TABLE preismon.u (n UInt64) ENGINE = Memory", "ACCESS_DENIED"},
		{embedded.QueryUser, "DROP TABLE preismon.t", "ACCESS_DENIED"},
		{embedded.QueryUser, "ALTER TABLE preismon.t DELETE WHERE 1", "ACCESS_DENIED"},
		{embedded.QueryUser, "TRUNCATE TABLE preismon.t", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'n UInt64')", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM file('" + secret + "', 'CSV', 'n UInt64')", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM s3('http://127.0.0.1:1/bucket/key', 'CSV', 'n UInt64')", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM remote('127.0.0.1', preismon.t)", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM executable('x', 'CSV', 'n UInt64')", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM system.parts", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM system.processes", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM system.users", "ACCESS_DENIED"},
		{embedded.QueryUser, "SELECT * FROM information_schema.tables", "ACCESS_DENIED"},
		{embedded.QueryUser, "KILL QUERY WHERE 1", "ACCESS_DENIED"},
		{embedded.QueryUser, "SYSTEM STOP LISTEN TCP", "ACCESS_DENIED"},
		{embedded.QueryUser, "CREATE USER other", "ACCESS_DENIED"},
		{embedded.QueryUser, "BACKUP DATABASE preismon TO File('x')", "ACCESS_DENIED"},
		{embedded.QueryUser, "SET readonly = 0", "READONLY"},
		{embedded.QueryUser, "SELECT 1 SETTINGS use_query_condition_cache = 1", "SETTING_CONSTRAINT_VIOLATION"},
		{embedded.QueryUser, "SELECT 1 SETTINGS timeout_overflow_mode = 'break'", "SETTING_CONSTRAINT_VIOLATION"},
		{embedded.QueryUser, "SELECT 1 SETTINGS log_queries = 0", "SETTING_CONSTRAINT_VIOLATION"},
		{embedded.QueryUser, "SELECT 1 SETTINGS max_execution_time = 0", "SETTING_CONSTRAINT_VIOLATION"},
		{embedded.ProjectorUser, "INSERT INTO preismon.t SELECT 2", ""},
		{embedded.ProjectorUser, "DELETE FROM preismon.t WHERE n = 2", ""},
		{embedded.ProjectorUser, "SELECT count() FROM system.parts", ""},
		{embedded.ProjectorUser, "KILL QUERY WHERE user = currentUser() AND query_id LIKE 'none-%' SYNC", ""},
		{embedded.ProjectorUser, "INSERT INTO foreign.t VALUES (2)", "ACCESS_DENIED"},
		{embedded.ProjectorUser, "CREATE TABLE preismon.u (n UInt64) ENGINE = Memory", "ACCESS_DENIED"},
		{embedded.ProjectorUser, "DROP TABLE preismon.t", "ACCESS_DENIED"},
		{embedded.ProjectorUser, "SELECT * FROM file('" + secret + "', 'CSV', 'n UInt64')", "ACCESS_DENIED"},
	} {
		t.Run(c.user+"/"+c.statement, func(t *testing.T) {
			db := open(t, ch.DSN(c.user, ""))
			_, err := db.ExecContext(t.Context(), c.statement)
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && err == nil:
				t.Error("is allowed")
			case c.refused != "" && !refusal(err, c.refused):
				t.Errorf("refused with %v, want %s", err, c.refused)
			}
		})
	}
	for _, user := range []string{"default", "", "preismon_query"} {
		dsn := strings.Replace(ch.DSN(embedded.QueryUser, "system"), embedded.QueryUser+":"+ch.Password(embedded.QueryUser), user+":", 1)
		if err := open(t, dsn).PingContext(t.Context()); err == nil {
			t.Errorf("user %q comes in without a password", user)
		}
	}
}

// refusal says whether err is ClickHouse's exception of that name.
func refusal(err error, name string) bool {
	code := map[string]string{"ACCESS_DENIED": "code: 497", "READONLY": "code: 164", "SETTING_CONSTRAINT_VIOLATION": "code: 452"}[name]
	return strings.Contains(err.Error(), code)
}

func TestClickHouseSaysWhyItDoesNotStart(t *testing.T) {
	_, err := embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{
		Dir: t.TempDir(), NoProgram: true, ExtraConfig: []string{"<many>"}, Logger: quiet(),
	})
	if err == nil || !strings.Contains(err.Error(), "Tag mismatch") || strings.Contains(err.Error(), "0. ?") {
		t.Errorf("broken configuration: %v", err)
	}
	_, err = embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{Database: "a b", LogLevel: "loud"})
	for _, want := range []string{"folder", `"a b"`, `"loud"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

// TestClickHouseOutlivesItsClients breaks connections in the ways that end a
// clickhouse-local: an idle one is reset, a login is wrong, the protocol is another.
func TestClickHouseOutlivesItsClients(t *testing.T) {
	dir := t.TempDir()
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: dir})
	u, err := url.Parse(ch.DSN(embedded.QueryUser, ""))
	if err != nil {
		t.Fatal(err)
	}
	for name, breakOff := range map[string]func(conn *net.TCPConn){
		"reset while idle": func(conn *net.TCPConn) {
			// The hello of the protocol: name, version, database, user, password.
			hello := []byte{0}
			text := func(s string) { hello = append(append(hello, byte(len(s))), s...) }
			text("test")
			hello = append(hello, 1, 1)
			hello = append(hello, 0xd4, 0xa9, 0x03) // revision 54484
			password, _ := u.User.Password()
			for _, s := range []string{"preismon", u.User.Username(), password} {
				text(s)
			}
			_, _ = conn.Write(hello)
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			answer := make([]byte, 1)
			if n, err := conn.Read(answer); n != 1 || err != nil || answer[0] != 0 {
				t.Errorf("hello is answered by %v, %v", answer, err)
			}
			time.Sleep(20 * time.Millisecond) // until it waits for a request
			_ = conn.SetLinger(0)
		},
		"wrong password": func(*net.TCPConn) {
			other := *u
			other.User = url.UserPassword(u.User.Username(), "wrong")
			if err := open(t, other.String()).PingContext(t.Context()); err == nil {
				t.Error("a wrong password is accepted")
			}
		},
		"HTTP":    func(conn *net.TCPConn) { _, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) },
		"garbage": func(conn *net.TCPConn) { _, _ = conn.Write(bytes.Repeat([]byte{0xff}, 1000)) },
		"reset before a word": func(conn *net.TCPConn) {
			_ = conn.SetLinger(0)
		},
	} {
		for range 20 {
			conn, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatalf("after %s: %v", name, err)
			}
			breakOff(conn.(*net.TCPConn))
			_ = conn.Close()
		}
		select {
		case <-ch.Done():
			log, _ := os.ReadFile(filepath.Join(dir, "logs", "clickhouse.errors.log"))
			t.Fatalf("ended after %s:\n%s", name, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	if n := count(t, open(t, ch.DSN(embedded.QueryUser, "")), "SELECT 41 + 1"); n != 42 {
		t.Errorf("answers %d", n)
	}
}

// TestClickHouseSaysThatItIsFragile: a library whose error handler is another
// than the one we know serves, and a warning says what it does not outlive.
func TestClickHouseSaysThatItIsFragile(t *testing.T) {
	known, err := (&embedded.Library{Logger: quiet()}).Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	dir := filepath.Join(cache, filepath.Base(filepath.Dir(known)))
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(known))); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, filepath.Base(known)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	text, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte("19KillingErrorHandler\x00"))
	if at < 0 {
		t.Fatal("the library has no such class")
	}
	text[at+2] = 'M'
	if err := errors.Join(syscall.Munmap(text), f.Close()); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name    string
		library embedded.Library
		warned  bool
	}{{"another handler", embedded.Library{CacheDir: cache}, true}, {"the one we know", embedded.Library{}, false}} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: t.TempDir(), Library: c.library, NoProgram: true, Logger: logger})
			if n := count(t, open(t, ch.DSN(embedded.QueryUser, "")), "SELECT 41 + 1"); n != 42 {
				t.Errorf("answers %d", n)
			}
			if warned := strings.Contains(log.String(), "resets a connection") && strings.Contains(log.String(), "KillingErrorHandler"); warned != c.warned {
				t.Errorf("warned: %t, the log is %q", warned, log.String())
			}
		})
	}
}
