package embedded_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func TestDataDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if _, err := embedded.ReadRuntime(path); !errors.Is(err, embedded.ErrNotRunning) {
		t.Errorf("runtime of no folder: %v", err)
	}
	d := must.Get(embedded.OpenDataDir(path))(t)
	if _, err := embedded.OpenDataDir(path); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("second open: %v", err)
	}
	if _, err := embedded.ReadRuntime(path); !errors.Is(err, embedded.ErrNotRunning) || !strings.Contains(err.Error(), "still starting") {
		t.Errorf("runtime of a starting process: %v", err)
	}
	want := embedded.Runtime{NATSURL: "nats://a:b@127.0.0.1:1", QueryDSN: "clickhouse://q", APIURL: "http://127.0.0.1:2"}
	must.Do(t, d.WriteRuntime(want))
	want.PID, want.StartedAt = os.Getpid(), d.StartedAt
	got := must.Get(embedded.ReadRuntime(path))(t)
	equals.Check(t, want, got)
	for name, mode := range map[string]os.FileMode{"": 0o700, "runtime.json": 0o600, "lock": 0o600} {
		if st, err := os.Stat(d.Join(name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, st, err)
		}
	}
	// The file of a killed process, read before it is removed.
	stale := want
	stale.PID = 1 << 30
	text := must.Get(json.Marshal(stale))(t)
	must.Do(t, os.WriteFile(d.Join("runtime.json"), text, 0o600))
	if r, err := embedded.ReadRuntime(path); !errors.Is(err, embedded.ErrNotRunning) || r != (embedded.Runtime{}) {
		t.Errorf("runtime of a killed process: %v, %v", r, err)
	}
	must.Do(t, d.Close())
	if _, err := os.Stat(filepath.Join(path, "runtime.json")); !os.IsNotExist(err) {
		t.Errorf("the runtime file is there after Close: %v", err)
	}
	if _, err := embedded.ReadRuntime(path); !errors.Is(err, embedded.ErrNotRunning) {
		t.Errorf("runtime of a closed folder: %v", err)
	}
	d = must.Get(embedded.OpenDataDir(path))(t)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestDataDirRefusesForeignFolder(t *testing.T) {
	path := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(path, "thesis.txt"), nil, 0o644))
	must.Do(t, os.Chmod(path, 0o755))
	if _, err := embedded.OpenDataDir(path); err == nil || !strings.Contains(err.Error(), "not a data folder of preismon") {
		t.Errorf("foreign folder: %v", err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o755 {
		t.Errorf("its mode was changed to %v", st.Mode())
	}
}
