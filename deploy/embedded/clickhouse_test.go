package embedded_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
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
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// helperVariable turns the test binary into a parent process for a test to
// kill.
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

// parent runs what `preismon up` runs, prints where, and waits to be killed.
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
	ch := must.Get(embedded.StartClickHouse(t.Context(), cfg))(t)
	t.Cleanup(func() {
		if err := ch.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ch
}

func open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("clickhouse", dsn))(t)
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

// gone reports whether a process has ended, even if its new parent has not
// noticed yet.
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
	must.Do(t, syscall.Kill(ch.PID(), syscall.SIGKILL))
	<-ch.Done()

	ch = startClickHouse(t, cfg)
	db = open(t, ch.DSN(embedded.AdminUser, ""))
	equals.Is(t, 4999950000, count(t, db, "SELECT sum(n) FROM numbered"), "sum after kill -9 and start")
	began := time.Now()
	must.Do(t, ch.Stop(t.Context()))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Stop took %s", took)
	}
	equals.NoError(t, ch.Stop(t.Context()), "second Stop")
	if !gone(ch.PID()) {
		t.Error("the child is there after Stop")
	}
}

// yields: the threads of the engine have lower priority than those of the roles.
func yields(t *testing.T, ch *embedded.ClickHouse, db *sql.DB) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	equals.Is(t, 0, count(t, db, "SELECT count() FROM numbers_mt(1000000) WHERE sipHash64(number) % 2 = 2"), "rows")
	threads := must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", ch.PID())))(t)
	nice := map[string]int{} // how many threads have a value
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		_, fields, _ := strings.Cut(string(text), ") ") // the third field and later ones, see proc(5)
		nice[strings.Fields(fields)[16]]++
	}
	if nice["5"] < 10 || nice["5"] < 2*nice["0"] { // some threads of the engine raise their priority where they may
		t.Errorf("threads by nice value: %v", nice)
	}
	t.Logf("threads by nice value: %v", nice)
}

// TestClickHouseLogs: the server has the settings that it was given, and logs.
// The library leaves folders of its log tables behind, which once prevented the
// next start from logging queries.
func TestClickHouseLogs(t *testing.T) {
	dir := t.TempDir()
	cfg := embedded.ClickHouseConfig{Dir: dir, Settings: map[string]string{"max_threads": "3"}, MemoryLimit: 3 << 30}
	ch := startClickHouse(t, cfg)
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
		equals.Is(t, want, count(t, db, query), "%s", query)
	}
	mustExec(t, db, "BACKUP DATABASE preismon TO File('one')", "DROP TABLE logged SYNC", "RESTORE DATABASE preismon FROM File('one')")
	if count(t, db, "SELECT count() FROM logged") != 1 {
		t.Error("the backup did not bring the row back")
	}
	for _, name := range []string{"passwords.json", "users.xml", "config.xml"} {
		st := must.Get(os.Stat(filepath.Join(dir, name)))(t)
		if st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, st.Mode())
		}
	}
	t.Run("yields", func(t *testing.T) { yields(t, ch, db) })

	must.Do(t, ch.Stop(t.Context()))
	ch = startClickHouse(t, cfg)
	db = open(t, ch.DSN(embedded.AdminUser, ""))
	mustExec(t, db, "SELECT 'a query to be logged'", "SYSTEM FLUSH LOGS")
	if count(t, db, "SELECT count() FROM system.query_log WHERE query LIKE 'SELECT ''a query to be logged%' AND type = 'QueryFinish'") != 1 {
		t.Error("after a restart the query is not in query_log")
	}
}

func TestClickHouseEndsWithItsParent(t *testing.T) {
	dir := t.TempDir()
	start := func() (*exec.Cmd, int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"="+dir)
		cmd.Stderr = os.Stderr
		out := must.Get(cmd.StdoutPipe())(t)
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		line, err := bufio.NewReader(out).ReadString('\n')
		pid, isPID := strings.CutPrefix(strings.TrimSpace(line), "pid ")
		if err != nil || !isPID {
			t.Fatalf("the parent said %q, %v", line, err)
		}
		n := must.Get(strconv.Atoi(pid))(t)
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
	must.Eventually(t, 2*time.Second, "the child ends after kill -9 of its parent", func() bool { return gone(child) })
	if _, err := embedded.ReadRuntime(dir); err == nil {
		t.Error("the runtime file of a killed process is believed")
	}

	// Again at once, before the old child may have released the folder.
	cmd, child = start()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, second := start()
	r = must.Get(embedded.ReadRuntime(dir))(t)
	if count(t, open(t, r.AdminDSN), "SELECT sum(n) FROM kept") != 7 {
		t.Error("the row is lost")
	}
	if gone(second) {
		t.Error("the second child is gone")
	}
	must.Eventually(t, 2*time.Second, "the first child is gone", func() bool { return gone(child) })
}
