package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// onOneUp are tests that share an up and run in parallel: each has sites,
// products, a mandate and a login of its own.
var onOneUp = map[string]func(*testing.T, *upProcess){"files": importFiles, "guesses": importGuesses, "texts in NFC": textsInNFC}

// TestImportFiles imports people's files into an up, and runs the other tests
// on it: first those of a new folder, last those that stop it.
func TestImportFiles(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	t.Run("doctor", func(t *testing.T) { doctorOn(t, u) })
	t.Run("at once", func(t *testing.T) {
		for name, test := range onOneUp {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				mine := *u
				mine.t = t
				test(t, &mine)
			})
		}
	})
	t.Run("folder", func(t *testing.T) { oneFolder(t, u) })
}

// importFiles: files of several days, selected by a pattern, have one mapping
// and one report, their rejected rows are kept separately, and what two of them
// have in common is imported once; standard input is a file, too. The files of
// a watched folder are imported, including those that arrive later, and nothing
// is imported twice after a restart.
func importFiles(t *testing.T, u *upProcess) {
	db := u.tables()
	dir := t.TempDir()
	count := func() uint64 {
		settle(t, db)
		return number(t, db, "SELECT count() FROM observations WHERE site = 'laden'")
	}
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	const header = "Artikelnummer;Preis;Gesehen am\n"
	write("laden-2026-03-01.csv", header+"A-1;1.234,50 €;2026-03-01 09:00\nA-2;viel €;2026-03-01 09:00\n")
	write("laden-2026-03-02.csv", header+"A-1;1.234,50 €;2026-03-01 09:00\nA-1;1.199,00 €;2026-03-02 09:00\nA-2;wenig €;2026-03-02 09:00\n")
	run := func(stdin string, args ...string) (string, string, int) {
		t.Helper()
		cmd := command(t, []string{"PREISMON_PASSWORD=correct horse battery staple"}, append([]string{"import"}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	into := []string{"--mandate", "Laden", "--login", "me", "--data-dir", u.DataDir}
	out, errs, code := run("", append(into, "laden-*.csv", "--yes")...)
	says(t, out, errs, code, exitRejected, "written to laden.yaml", "rejects-laden-2026-03-01.ndjson", "rejects-laden-2026-03-02.ndjson", "--site laden")
	if !strings.Contains(out, "2 files") || strings.Count(out, "\n") != 4 {
		t.Errorf("not one report: %s", out)
	}
	rejected(t, filepath.Join(dir, "rejects-laden-2026-03-01.ndjson"), 3)
	rejected(t, filepath.Join(dir, "rejects-laden-2026-03-02.ndjson"), 4)
	equals.Is(t, 2, count(), "rows")
	noDoubles(t, db)

	out, errs, code = run(header+"A-3;5,00 €;2026-03-03 09:00\n", append(into, "-", "--map", "laden.yaml")...)
	says(t, out, errs, code, 0)
	equals.Is(t, 3, count(), "after standard input rows")
	out, errs, code = run("", append(into, "nothing-*.csv", "--map", "laden.yaml")...)
	says(t, out, errs, code, exitFailed, "no file matches")
	sentence(t, errs)

	watched(t, dir, append(into, "--map", "laden.yaml", "--watch", "inbox"), header, count)
	noDoubles(t, db)
}

// watched watches a folder twice; three rows are there already.
func watched(t *testing.T, dir string, args []string, header string, count func() uint64) {
	t.Helper()
	inbox := filepath.Join(dir, "inbox")
	must.Do(t, os.Mkdir(inbox, 0o700))
	put := func(name, text string) {
		t.Helper()
		moved, settled := filepath.Join(dir, "moved"), time.Now().Add(-settledAfter)
		must.Do(t, os.WriteFile(moved, []byte(header+text), 0o600))
		must.Do(t, os.Chtimes(moved, settled, settled))
		must.Do(t, os.Rename(moved, filepath.Join(inbox, name)))
	}
	put("first.csv", "A-4;5,00 €;2026-03-04 09:00\n")
	put("notes.md", "A-9;5,00 €;2026-03-04 09:00\n")
	for turn, said := range []string{"first.csv: 1 new observation, 0 rows known", "first.csv: 0 new observations, 1 row known"} {
		log := must.Get(os.Create(filepath.Join(t.TempDir(), "log")))(t)
		defer log.Close()
		cmd := command(t, []string{"PREISMON_PASSWORD=correct horse battery staple"}, append([]string{"import"}, args...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
		must.Do(t, cmd.Start())
		defer func(p *exec.Cmd) { _ = p.Process.Kill() }(cmd)
		told := func(text string) func() bool {
			return func() bool {
				b, err := os.ReadFile(log.Name())
				return err == nil && strings.Contains(string(b), text)
			}
		}
		must.Eventually(t, 90*time.Second, said, told(said))
		if turn == 0 {
			put("broken.csv", "")
			put("second.csv", "A-5;5,00 €;2026-03-04 09:00\nA-6;teuer €;2026-03-04 09:00\n")
			must.Eventually(t, 90*time.Second, "second file", told("second.csv: 1 new observation, 0 rows known, 1 rejected"))
			put("third.csv", "A-4;4,00 €;2026-03-04 08:00\nA-5;4,00 €;2026-03-04 10:00\nA-7;4,00 €;2026-03-04 10:00\n") // one is late, one is of a new product
			must.Eventually(t, 90*time.Second, "what changed", told("third.csv: 3 new observations, 0 rows known, 0 rejected\n  1 of the prices known before changed:\n  A-5 at laden: 5.00 EUR -> 4.00 EUR (-20.0 %)\n"))
			must.Eventually(t, 90*time.Second, "broken file", told("broken.csv: not imported: the file has a header and no rows"))
		} else {
			must.Eventually(t, 90*time.Second, "second file", told("second.csv: 0 new observations, 1 row known, 1 rejected"))
		}
		must.Do(t, cmd.Process.Signal(syscall.SIGINT))
		if err := cmd.Wait(); err != nil {
			b, _ := os.ReadFile(log.Name())
			t.Errorf("stopped: %v\n%s", err, b)
		}
		equals.Is(t, 8, count(), "turn %d rows", turn)
	}
}

// TestSettledFiles: a file is complete when it has not changed for a while, and
// is returned again after it changed.
func TestSettledFiles(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	put := func(name, text string, age time.Duration) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		must.Do(t, os.Chtimes(filepath.Join(dir, name), now.Add(-age), now.Add(-age)))
	}
	files := map[string]*seenFile{}
	look := func(want ...string) {
		t.Helper()
		got, err := settledFiles(dir, files, now)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
	put("old.csv", "a", time.Hour)
	put("young.csv", "a", time.Second)
	put(".hidden.csv", "a", time.Hour)
	put("prices.csv.part", "a", time.Hour)
	look()
	look("old.csv")
	look()
	put("old.csv", "ab", time.Hour)
	look()
	look("old.csv")
	now = now.Add(settledAfter)
	look("young.csv")
	must.Do(t, os.Remove(filepath.Join(dir, "old.csv")))
	look()
	put("old.csv", "ab", time.Hour)
	look()
	look("old.csv")
	put("future.csv", "a", -time.Hour) // from a machine whose clock is ahead
	look()
	look()
	now = now.Add(settledAfter)
	look("future.csv")
	look()
}

// TestLabelled: no two files of a run have the same label, and those of one
// kind share their orders.
func TestLabelled(t *testing.T) {
	file := func(name string) importFile {
		return importFile{Source: maps.Source{Name: name, Path: name}, label: maps.Label(name), orders: maps.Series(name)}
	}
	for _, c := range []struct {
		label  string
		others bool
		files  []importFile
		want   []string // label, and that of the orders
	}{
		{"", false, []importFile{file("a/x.csv"), file("b/x.csv"), file("y.csv")}, []string{"x x", "b/x.csv b/x.csv", "y y"}},
		{"", false, []importFile{file("x-2026-10.csv")}, []string{"x-2026-10 x"}},
		{"shop", false, []importFile{file("x-2026-10.csv")}, []string{"shop shop"}},
		{"shop", true, []importFile{file("x-2026-10.csv")}, []string{"shop/x-2026-10 shop"}},
		{"shop", false, []importFile{file("x-2026-10.csv"), file("x-2026-11.csv")}, []string{"shop/x-2026-10 shop/x", "shop/x-2026-11 shop/x"}},
	} {
		var got []string
		for _, f := range labelled(c.files, c.label, c.others) {
			got = append(got, f.label+" "+f.orders)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestRejectsToDevices: what is no regular file is written to under its own name,
// also for several files.
func TestRejectsToDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "null")
	must.Do(t, os.Symlink(os.DevNull, name))
	for _, several := range []bool{false, true} {
		rejects := rejectsOf(name, "prices", several)
		must.Get(rejects.Write([]byte("{}\n")))(t)
		must.Do(t, rejects.remove())
		if left := must.Get(os.ReadDir(dir))(t); rejects.name != name || len(left) != 1 {
			t.Errorf("several: %t: written to %s; %v", several, rejects.name, left)
		}
	}
}
