package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/projector/backup"
)

// TestFolders: the newest complete backup comes first, by the time in its note,
// or by that of its files if it has none; a backup that is still on its way is
// not listed.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	put := func(name string, age time.Duration, parts ...string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		for _, part := range parts {
			mark := filepath.Join(path, part)
			must.Do(t, os.MkdirAll(filepath.Dir(mark), 0o755))
			must.Do(t, errors.Join(os.WriteFile(mark, []byte("1234"), 0o644), os.Chtimes(mark, day, day.Add(-age))))
		}
		return path
	}
	both := []string{"checkpoints/" + backup.Mark, "tables/" + backup.Mark}
	put("old", 48*time.Hour, both...)
	put("broken", 0, both[0], "tables/data")
	put("passing-x", 0, both...)
	put(".backup-1", 0, both...)
	put("else", 0, "notes.txt")
	noted := put("noted", 0, both...)
	must.Do(t, (backup.Note{Taken: day.Add(-24 * time.Hour), Checkpoint: backup.Checkpoint{Epoch: 2, Seq: 7}}).Write(noted))
	all, err := backup.Folders(dir, filepath.Join(dir, "nowhere"))
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v %v", all, err)
	}
	for i, want := range []struct {
		name  string
		whole bool
		taken time.Time
	}{{"noted", true, day.Add(-24 * time.Hour)}, {"old", true, day.Add(-48 * time.Hour)}, {"broken", false, time.Time{}}} {
		if f := all[i]; filepath.Base(f.Path) != want.name || f.Whole != want.whole || !f.Taken.Equal(want.taken) || f.Bytes < 8 {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
	if c := all[0].Checkpoint; c == nil || *c != (backup.Checkpoint{Epoch: 2, Seq: 7}) || all[1].Checkpoint != nil {
		t.Errorf("checkpoints %v %v", c, all[1].Checkpoint)
	}
	if _, err := backup.Look(filepath.Join(dir, "else")); !errors.Is(err, backup.ErrNone) {
		t.Errorf("no backup: %v", err)
	}
}

// TestLastOf: the last drill of a backup counts, and a drill from before the
// backup was taken does not.
func TestLastOf(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "drills")
	for _, d := range []backup.Drill{{Place: "a", At: at}, {Place: "a", At: at.Add(time.Hour), Findings: 2}, {Place: "b", At: at.Add(2 * time.Hour)}} {
		must.Do(t, d.Remember(file))
	}
	drills, err := backup.Drills(file)
	if err != nil || len(drills) != 3 {
		t.Fatalf("%+v %v", drills, err)
	}
	if d, ok := backup.LastOf(drills, "a", at.Add(-time.Hour)); !ok || d.Findings != 2 {
		t.Errorf("%+v %v", d, ok)
	}
	if d, ok := backup.LastOf(drills, "a", at.Add(90*time.Minute)); ok {
		t.Errorf("a drill of another backup of that name: %+v", d)
	}
}

// TestTornDrills: a line that a full disk cut is passed over, and the next drill
// gets a line of its own.
func TestTornDrills(t *testing.T) {
	file := filepath.Join(t.TempDir(), "drills.ndjson")
	must.Do(t, os.WriteFile(file, []byte("{\"place\":\"a\",\"at\":\"2026-03-01T00:00:00Z\"}\n{\"pla"), 0o600))
	places := func(want ...string) {
		t.Helper()
		drills, err := backup.Drills(file)
		var got []string
		for _, d := range drills {
			got = append(got, d.Place)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("drills of %q, want %q: %v", got, want, err)
		}
	}
	places("a")
	for _, next := range []string{"b", "c"} {
		must.Do(t, backup.Drill{Place: next}.Remember(file))
	}
	places("a", "b", "c")
}
