package embedded_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func TestClickHouseUsers(t *testing.T) {
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: t.TempDir(), GrantAlso: "preismon_test_*"})
	admin := open(t, ch.DSN(embedded.AdminUser, ""))
	mustExec(t, admin, "CREATE DATABASE preismon_test_a", "CREATE DATABASE foreign",
		"CREATE TABLE preismon.t (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO preismon.t VALUES (1)",
		"CREATE TABLE preismon_test_a.t (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO preismon_test_a.t VALUES (1)",
		"CREATE TABLE foreign.t (n UInt64) ENGINE = MergeTree ORDER BY n")
	secret := filepath.Join(t.TempDir(), "secret.csv")
	must.Do(t, os.WriteFile(secret, []byte("1\n"), 0o600))
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

// refusal reports whether err is ClickHouse's exception of that name.
func refusal(err error, name string) bool {
	code := map[string]string{"ACCESS_DENIED": "code: 497", "READONLY": "code: 164", "SETTING_CONSTRAINT_VIOLATION": "code: 452"}[name]
	return strings.Contains(err.Error(), code)
}

func TestClickHouseSaysWhyItDoesNotStart(t *testing.T) {
	var err error
	for range 3 { // one time in forty the library aborts before it has written anything
		_, err = embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{
			Dir: t.TempDir(), NoProgram: true, ExtraConfig: []string{"<many>"}, Logger: quiet(),
		})
		if err == nil || strings.Contains(err.Error(), "Tag mismatch") {
			break
		}
	}
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
// clickhouse-local: an idle one is reset, a login is wrong, another protocol is
// used. Meanwhile the child's garbage collector runs alongside the engine, and
// once freed its arguments. There is nothing to warn of.
func TestClickHouseOutlivesItsClients(t *testing.T) {
	dir := t.TempDir()
	log, logger := warnings()
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: dir, Logger: logger})
	u := must.Get(url.Parse(ch.DSN(embedded.QueryUser, "")))(t)
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
			said, _ := os.ReadFile(filepath.Join(dir, "logs", "clickhouse.errors.log"))
			t.Fatalf("ended after %s:\n%s", name, said)
		case <-time.After(100 * time.Millisecond):
		}
	}
	equals.Is(t, 42, count(t, open(t, ch.DSN(embedded.QueryUser, "")), "SELECT 41 + 1"), "answers")
	if fragile(log) {
		t.Errorf("it takes itself for fragile: %s", log)
	}
}

// warnings returns a logger of warnings, and what it writes.
func warnings() (*bytes.Buffer, *slog.Logger) {
	var log bytes.Buffer
	return &log, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func fragile(log *bytes.Buffer) bool {
	return strings.Contains(log.String(), "resets a connection") && strings.Contains(log.String(), "KillingErrorHandler")
}

// TestClickHouseSaysThatItIsFragile: a library with an unknown error handler
// still serves, and a warning says what it does not survive.
func TestClickHouseSaysThatItIsFragile(t *testing.T) {
	known := must.Get((&embedded.Library{Logger: quiet()}).Ensure(t.Context()))(t)
	cache := t.TempDir()
	dir := filepath.Join(cache, filepath.Base(filepath.Dir(known)))
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Dir(known))))
	f := must.Get(os.OpenFile(filepath.Join(dir, filepath.Base(known)), os.O_RDWR, 0))(t)
	size := must.Get(f.Seek(0, io.SeekEnd))(t)
	text := must.Get(syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))(t)
	at := bytes.Index(text, []byte("19KillingErrorHandler\x00"))
	if at < 0 {
		t.Fatal("the library has no such class")
	}
	text[at+2] = 'M'
	must.Do(t, errors.Join(syscall.Munmap(text), f.Close()))

	log, logger := warnings()
	ch := startClickHouse(t, embedded.ClickHouseConfig{Dir: t.TempDir(), Library: embedded.Library{CacheDir: cache}, Logger: logger})
	equals.Is(t, 42, count(t, open(t, ch.DSN(embedded.QueryUser, "")), "SELECT 41 + 1"), "answers")
	if !fragile(log) {
		t.Errorf("it does not warn: %s", log)
	}
}
