package process_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/process"
	"preismon/projector/schema"
)

// parent makes the test binary a test process of its own, that starts a role
// and is then killed.
const parent = "PREISMON_TEST_PROCESS_PARENT"

func TestMain(m *testing.M) { process.Main(m) }

// projector is one that has tables but no streams, and so waits for them.
func projector(t *testing.T, natsURL, tables string) *process.Role {
	t.Helper()
	return process.New(t, "projector", "--nats-url", natsURL, "--clickhouse-dsn", tables, "--admin-listen", "127.0.0.1:0")
}

// migrated gives the DSN of tables.
func migrated(t *testing.T) string {
	t.Helper()
	server := testserver.ClickHouse(t)
	if err := schema.Migrate(t.Context(), server.AdminDSN, schema.Options{}); err != nil {
		t.Fatal(err)
	}
	return server.ProjectorDSN
}

func started(t *testing.T) *process.NATS {
	t.Helper()
	s := &process.NATS{Dir: t.TempDir()}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func TestRole(t *testing.T) {
	r := projector(t, started(t).URL(), migrated(t))
	if r.Metrics() != nil || r.Ready() || r.Exited() {
		t.Error("it answers, or has exited, before it runs")
	}
	for round := range 2 { // it can be started again
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		if m := r.Metrics(); m["go_goroutines"] < 2 {
			t.Errorf("round %d: metrics %v", round, m)
		}
		if n := r.Goroutines(); n < 2 {
			t.Errorf("round %d: %d goroutines", round, n)
		}
		if err := process.Until(time.Minute, "it is ready", r.Ready); err != nil {
			t.Error(err)
		}
		pid := r.PID()
		if err := r.Start(); err != nil || r.PID() != pid {
			t.Errorf("round %d: process %d was %d before it was started while it ran: %v", round, r.PID(), pid, err)
		}
		select {
		case <-r.Ended():
			t.Fatalf("round %d: it has ended", round)
		default:
		}
		if round == 0 {
			if err := process.Until(time.Minute, "it leads", r.Leads); err != nil {
				t.Error(err)
			}
			r.Kill()
			if err := r.Stopped(); err == nil || !strings.Contains(err.Error(), "exit code -1") {
				t.Errorf("a process that was killed stopped with %v", err)
			}
		} else if err := r.Stop(); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("round %d: process %d lives", round, pid)
		}
		if killed := round == 0; r.Exited() == killed {
			t.Errorf("round %d: exited by itself: %t", round, r.Exited())
		}
	}
	if n := strings.Count(r.Written(), `"admin"`); n < 2 {
		t.Errorf("its log tells of %d starts:\n%s", n, r.Written())
	}
	if wrong := process.New(t, "projector", "--no-such-flag"); wrong.Start() == nil || wrong.Exited() {
		t.Error("a role that ends at once was started")
	}
}

// TestNATS: what was published outlives kill -9.
func TestNATS(t *testing.T) {
	s := started(t)
	for round := range 2 {
		conn, err := nats.Connect(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		js, err := conn.JetStream()
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			_, err = js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}})
		}
		if err == nil {
			_, err = js.Publish("s", []byte("a message"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if info, err := js.StreamInfo("S"); err != nil || info.State.Msgs != uint64(round+1) {
			t.Errorf("round %d: %+v, %v", round, info, err)
		}
		conn.Close()
		s.Kill()
		if s.Up() {
			t.Error("it is up after it was killed")
		}
		if _, err := nats.Connect(s.URL()); err == nil {
			t.Error("it answers after it was killed")
		}
		if err := s.Start(); err != nil || !s.Up() {
			t.Fatal(err)
		}
	}
}

// TestEndsWithTheTest: a role does not outlive a test process that is killed.
// It is one that stands by, for one that writes ends anyway, of a broken pipe.
func TestEndsWithTheTest(t *testing.T) {
	if url := os.Getenv(parent); url != "" {
		r := projector(t, url, os.Getenv(parent+"_TABLES"))
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(os.Getenv(parent+"_PID"), []byte(strconv.Itoa(r.PID())), 0o600); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := process.Program()
	if err != nil {
		t.Fatal(err)
	}
	streams, tables := started(t), migrated(t)
	leader := projector(t, streams.URL(), tables)
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	if err := process.Until(time.Minute, "it leads", leader.Leads); err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/pid"
	cmd := exec.Command(self, "-test.run", "^TestEndsWithTheTest$")
	cmd.Env = append(os.Environ(), parent+"="+streams.URL(), parent+"_TABLES="+tables, parent+"_PID="+file, process.ProgramVariable+"="+program)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	err = process.Until(2*time.Minute, "the role runs", func() bool {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(text))
		return pid > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Until(10*time.Second, "the role has ended with it", func() bool { return syscall.Kill(pid, 0) != nil }); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Error(err)
	}
}
