package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/cmd/preismon/doctor"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
	"preismon/projector/backup"
)

// TestBackupDrill: a backup lies outside the data folder and is listed; a drill
// distinguishes a good backup from one whose tables lack rows and from a
// damaged one, and writes nothing to the tables in use; without a backup, no
// folder is created.
func TestBackupDrill(t *testing.T) {
	effort.Full(t, "drills of backups")
	t.Parallel()
	u := startUp(t)
	_, catalogue, observations := aMarket(t, market.Config{Seed: 7, Scale: 0.02}, 24*time.Hour)
	b := u.bus(t)
	for _, e := range slices.Concat(catalogue, observations) {
		b.send(t, e)
	}
	waitUntilApplied(t, u)
	db := u.tables()
	settle(t, db)
	rows := number(t, db, "SELECT count() FROM observations")
	here := []string{"--data-dir", u.DataDir}
	do := func(want int, words string, args ...string) string {
		t.Helper()
		out, errs, code := inProcess(t, append(args, here...)...)
		if code != want || !strings.Contains(out+message(errs), words) {
			t.Errorf("%q: exit code %d, want %d with %q: %s%s", args, code, want, words, out, errs)
		}
		return out
	}
	list := func() (all []listedBackup) {
		t.Helper()
		for line := range strings.Lines(do(0, "", "backup", "list", "--json")) {
			var b listedBackup
			if err := json.Unmarshal([]byte(line), &b); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, b)
		}
		return all
	}

	do(0, "No backups.", "backup", "list")
	do(exitUsage, "preismon backup --data-dir", "backup", "drill")
	do(0, backupsFor(u.DataDir), "backup")
	good := list()
	if len(good) != 1 || !good[0].Whole || good[0].Bytes == 0 || good[0].Taken.IsZero() || good[0].Checkpoint == nil || good[0].Checkpoint.Seq == 0 || good[0].Drill != nil {
		t.Fatalf("%+v", good)
	}
	if filepath.Dir(good[0].Path) != u.DataDir+"-backups" {
		t.Errorf("it is in %s", good[0].Path)
	}
	if left, err := os.ReadDir(serverBackups(u.DataDir)); err != nil || len(left) != 0 {
		t.Errorf("in the server's folder of backups: %v %v", left, err)
	}
	do(exitFailed, "choose another name", "backup", "--to", filepath.Base(good[0].Path))
	do(exitFailed, "choose another name", "backup", "--to", good[0].Path)
	do(exitUsage, "preismon backup list --data-dir "+u.DataDir, "backup", "drill", "--from", "nothing")

	do(0, "Nothing is missing and nothing is doubled.", "backup", "drill")
	if all := list(); len(all) != 1 || all[0].Drill == nil || !all[0].Drill.Proven() || all[0].Drill.Rows != rows {
		t.Errorf("after a drill of %d rows: %+v", rows, all)
	}
	do(0, "compared column by column", "backup", "drill", "--content")
	do(0, string(doctor.OK)+strings.Repeat(" ", 7)+"last proven restore", "doctor")

	must.Get(db.ExecContext(t.Context(), "DELETE FROM observations WHERE seq = (SELECT max(seq) FROM observations)"))(t)
	do(0, "", "backup", "--to", "lacking")
	scratch := t.TempDir()
	do(exitFound, "observations lacks", "backup", "drill", "--from", "lacking", "--scratch", scratch)
	do(exitFound, "came back on", "doctor")

	damaged := filepath.Join(t.TempDir(), "damaged")
	must.Do(t, os.CopyFS(damaged, os.DirFS(good[0].Path)))
	must.Do(t, os.RemoveAll(filepath.Join(damaged, "tables", "data")))
	do(exitFailed, backup.ErrDamaged.Error(), "backup", "drill", "--from", damaged, "--scratch", scratch)
	do(exitFound, "could not be restored", "doctor")
	equals.Is(t, 1, number(t, db, "SELECT count() FROM system.databases WHERE name LIKE 'preismon%'"), "databases: a drill wrote to the server in use")
	if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
		t.Errorf("left of drills: %v %v", left, err)
	}

	fresh := filepath.Join(t.TempDir(), "new")
	out, errs, code := inProcess(t, "restore", "--data-dir", fresh, "--from", "nothing")
	says(t, out, errs, code, exitFailed, "there is no backup in")
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a folder was made for nothing")
	}
}

// TestCopyFolder: a backup copied to another disk arrives complete and readable
// by its owner only, and never replaces another backup.
func TestCopyFolder(t *testing.T) {
	from, in := t.TempDir(), t.TempDir()
	must.Do(t, (backup.Note{Checkpoint: backup.Checkpoint{Seq: 7}}).Write(from))
	to := filepath.Join(in, "monday")
	must.Do(t, copyFolder(from, to))
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if files, err := os.ReadDir(to); err != nil || len(files) != 1 {
		t.Errorf("copied: %v %v", files, err)
	}
	for name, move := range map[string]func(from, to string) error{"copy": copyFolder, "move": moveFolder} {
		if err := move(from, to); err == nil {
			t.Errorf("%s: it took the place of another", name)
		}
	}
	if left, err := os.ReadDir(in); err != nil || len(left) != 1 {
		t.Errorf("left: %v %v", left, err)
	}
}
