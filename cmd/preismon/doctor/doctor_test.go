package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestBackupsAge: the newest whole one counts, by its age.
func TestBackupsAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &Site{Backups: t.TempDir(), BackupParts: []string{".first", ".backup"}, Flags: "--data-dir x", Now: func() time.Time { return now }}
	look := func(state State, mend string) {
		t.Helper()
		if f := s.backups(t.Context())[0]; f.State != state || f.Mend != mend {
			t.Errorf("%+v, want %s %q", f, state, mend)
		}
	}
	const mend = "preismon backup --to 2026-03-01 --data-dir x"
	look(Warning, mend)
	backup := func(name, file string, age time.Duration) {
		t.Helper()
		path := filepath.Join(s.Backups, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	backup("broken", "data", time.Hour)
	backup("old", ".first", 41*24*time.Hour)
	backup("old", ".backup", 40*24*time.Hour)
	look(Bad, mend)
	backup("week", ".first", time.Hour)
	look(Bad, mend) // it is not whole
	backup("week", ".first", 8*24*time.Hour)
	backup("week", ".backup", 8*24*time.Hour)
	look(Warning, mend)
	backup("new", ".first", time.Hour)
	backup("new", ".backup", time.Hour)
	look(OK, "")
}

// TestClock: what a server said its time is lies between asking and the answer,
// or its clock differs.
func TestClock(t *testing.T) {
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &Site{Now: func() time.Time { return asked.Add(3 * time.Second) }}
	for ahead, want := range map[time.Duration]State{
		time.Second: OK, 3500 * time.Millisecond: OK, 5 * time.Second: Warning, -2 * time.Second: Warning, time.Minute: Bad, -time.Minute: Bad,
	} {
		if f := s.clock("clock", asked.Add(ahead), asked)[0]; f.State != want {
			t.Errorf("%s ahead: %+v, want %s", ahead, f, want)
		}
	}
}
