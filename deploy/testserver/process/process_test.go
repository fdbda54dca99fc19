package process_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
)

// parent turns the test binary into a separate test process that starts a role
// and is then killed.
const parent = "PREISMON_TEST_PROCESS_PARENT"

func TestMain(m *testing.M) { process.Main(m) }

// projector returns one that has tables but no streams, and so waits for them.
func projector(t *testing.T, natsURL, tables string) *process.Role {
	t.Helper()
	return process.New(t, "projector", "--nats-url", natsURL, "--clickhouse-dsn", tables, "--admin-listen", "127.0.0.1:0")
}

func started(t *testing.T) *process.NATS {
	t.Helper()
	s := &process.NATS{Dir: t.TempDir()}
	must.Do(t, s.Start())
	t.Cleanup(s.Kill)
	return s
}

// TestEndsWithTheTest: a role does not outlive a test process that is killed.
// The role here is a standby, because one that writes ends anyway, with a
// broken pipe.
func TestEndsWithTheTest(t *testing.T) {
	if url := os.Getenv(parent); url != "" {
		r := projector(t, url, os.Getenv(parent+"_TABLES"))
		must.Do(t, r.Start())
		must.Do(t, os.WriteFile(os.Getenv(parent+"_PID"), []byte(strconv.Itoa(r.PID())), 0o600))
		select {}
	}
	effort.Full(t, "a program that is built, and a test process that is killed")
	self := must.Get(os.Executable())(t)
	program := must.Get(process.Program())(t)
	streams, tables := started(t), migrated.ClickHouse(t).ProjectorDSN
	leader := projector(t, streams.URL(), tables)
	must.Do(t, leader.Start())
	must.Eventually(t, time.Minute, "it leads", leader.Leads)
	file := t.TempDir() + "/pid"
	cmd := exec.Command(self, "-test.run", "^TestEndsWithTheTest$")
	cmd.Env = append(os.Environ(), parent+"="+streams.URL(), parent+"_TABLES="+tables, parent+"_PID="+file, process.ProgramVariable+"="+program)
	must.Do(t, cmd.Start())
	pid := 0
	err := must.Until(2*time.Minute, "the role runs", func() bool {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(text))
		return pid > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	must.Do(t, err)
	if err := must.Until(10*time.Second, "the role has ended with it", func() bool { return syscall.Kill(pid, 0) != nil }); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Error(err)
	}
}
