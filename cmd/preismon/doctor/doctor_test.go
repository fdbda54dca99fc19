package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/projector/backup"
)

// ofFolder are the flags of a site that is a folder.
var ofFolder = Flags{Both: "--data-dir x", NATS: "--data-dir x", Tables: "--data-dir x", Archives: "--data-dir x"}

// TestBackupsAge: the newest complete backup counts, by its age; so does the
// last one that was restored in a drill.
func TestBackupsAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &Site{Backups: []string{t.TempDir(), t.TempDir()}, Drills: filepath.Join(t.TempDir(), "drills"), Flags: ofFolder, Now: func() time.Time { return now }}
	look := func(n int, state State, mend string) {
		t.Helper()
		if f := s.backups(t.Context()); n >= len(f) || f[n].State != state || f[n].Fix != mend {
			t.Errorf("%+v, want %s %q", f, state, mend)
		}
	}
	const mend, try = "preismon backup --data-dir x", "preismon backup drill --data-dir x"
	look(0, Warning, mend)
	part := func(folder int, name, part, file string, age time.Duration) {
		t.Helper()
		path := filepath.Join(s.Backups[folder], name, part, file)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, nil, 0o644))
		must.Do(t, os.Chtimes(path, now, now.Add(-age)))
	}
	part(0, "broken", "tables", "data", time.Hour)
	look(0, Warning, mend)
	part(1, "old", "checkpoints", backup.Mark, 41*24*time.Hour)
	part(1, "old", "tables", backup.Mark, 40*24*time.Hour)
	look(0, Bad, mend)
	part(0, "week", "checkpoints", backup.Mark, time.Hour)
	look(0, Bad, mend) // it is not complete
	part(0, "week", "checkpoints", backup.Mark, 8*24*time.Hour)
	part(0, "week", "tables", backup.Mark, 8*24*time.Hour)
	look(0, Warning, mend)
	part(0, "new", "checkpoints", backup.Mark, time.Hour)
	part(0, "new", "tables", backup.Mark, time.Hour)
	look(0, OK, "")

	look(1, Warning, try)
	for _, d := range []struct {
		drill backup.Drill
		state State
		mend  string
	}{
		{backup.Drill{At: now.Add(-40 * 24 * time.Hour)}, Warning, try},
		{backup.Drill{At: now.Add(-time.Hour)}, OK, ""},
		{backup.Drill{At: now, Findings: 1}, Bad, try},
		{backup.Drill{At: now, Fault: "no room"}, Bad, try},
	} {
		must.Do(t, d.drill.Remember(s.Drills))
		look(1, d.state, d.mend)
	}
}

// TestClock: a server's time must lie between the request and the answer;
// otherwise its clock differs.
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
