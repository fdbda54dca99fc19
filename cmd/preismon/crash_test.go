package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestUpKilled kills the process at random moments and also stops it while it
// fills its folder: the folder starts again each time, quickly, with every
// event applied once.
func TestUpKilled(t *testing.T) {
	effort.Full(t, "kills of up")
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	args := []string{"--data-dir", dir, "--demo", "--demo-scale", "0.12"}

	clickHouse := 0 // the ClickHouse of the previous process
	kill := func(u *upProcess) {
		r := must.Get(embedded.ReadRuntime(dir))(t)
		u.kill9()
		clickHouse = r.ClickHouse
	}
	gone := func() {
		t.Helper()
		must.Eventually(t, time.Minute, "the ClickHouse of the killed process is gone", func() bool { return !alive(clickHouse) })
	}
	for range 2 { // while it fills the folder for the first time
		u := launchUp(t, nil, args...)
		must.Eventually(t, time.Minute, "the fill has begun", func() bool {
			_, err := os.Stat(filepath.Join(dir, demoStateFile))
			return err == nil && running(dir)
		})
		wait := time.Duration(rnd.IntN(1500)) * time.Millisecond
		time.Sleep(wait)
		t.Logf("killed %v into the fill", wait)
		kill(u)
		u = launchUp(t, nil, args...) // and stopped by Ctrl-C while it starts or fills the folder
		must.Eventually(t, time.Minute, "it listens to signals", func() bool {
			holder, err := os.ReadFile(filepath.Join(dir, "holder.json"))
			return err == nil && strings.Contains(string(holder), fmt.Sprintf(`"pid":%d,`, u.cmd.Process.Pid))
		})
		wait = time.Duration(100+rnd.IntN(2500)) * time.Millisecond
		time.Sleep(wait)
		began := time.Now()
		u.interrupt()
		if code := u.wait(); code != 0 || time.Since(began) > 20*time.Second {
			t.Errorf("interrupted after %v: exit code %d after %v\n%s", wait, code, time.Since(began), u.stderr)
		}
	}
	led := time.Hour       // the shortest wait, because others use the machine, too
	for round := range 2 { // and while it is live
		u := startUp(t, args...)
		led = min(led, leadingAfter(t, u))
		t.Logf("ready after %v", u.Ready)
		if round > 0 && u.Ready > time.Minute { // 1 to 2 s on a quiet machine
			t.Errorf("a start after kill -9 took %v:\n%s", u.Ready, u.stderr)
		}
		wait := time.Duration(rnd.IntN(2500)) * time.Millisecond
		time.Sleep(wait)
		t.Logf("killed %v into the life", wait)
		kill(u)
	}
	gone()
	u := startUp(t, args...)
	t.Logf("ready after %v, with %d rows", u.Ready, exactDemo(t, u))
	if led = min(led, leadingAfter(t, u)); led > 8*time.Second { // less than the lease of the killed process lasts
		t.Errorf("the projector led after %v at best", led)
	}
	u.interrupt()
	equals.Is(t, 0, u.wait(), "exit code")
}

// running reports whether an up that has finished starting uses the folder.
func running(dir string) bool {
	_, err := embedded.ReadRuntime(dir)
	return err == nil
}

// leadingAfter reads from the log how long the projector waited for its lease.
func leadingAfter(t *testing.T, u *upProcess) time.Duration {
	t.Helper()
	for _, line := range logLines(u.stderr.String()) {
		if line.Msg == "leading" {
			return line.Time.Sub(u.Started)
		}
	}
	t.Fatal("the log does not say when the projector led")
	return 0
}
