package main

import (
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestKeepRows: rows past their retention are gone for every reader without
// being reported as missing: readers are told about it, the audit and doctor
// accept it, and so does a rebuild, after which logins still belong to the same
// accounts. Late rows are not written.
func TestKeepRows(t *testing.T) {
	effort.Full(t, "a rebuild of tables that rows have left")
	t.Parallel()
	u := startUp(t)
	old, fresh := "2024-02-03 09:00", time.Now().UTC().AddDate(0, 0, -3).Format("2006-01-02 15:04")
	rows := file(t, "laden.csv", "Artikelnummer;Preis;Gesehen am\nA-1;5,00 €;"+old+"\nA-1;6,00 €;"+fresh+"\nA-2;7,00 €;"+old+"\n")
	late := file(t, "laden-spaet.csv", "Artikelnummer;Preis;Gesehen am\nA-3;8,00 €;2024-02-04 09:00\n")
	dir := t.TempDir()
	const password = "correct horse battery staple"
	env := []string{"PREISMON_PASSWORD=" + password, "XDG_CONFIG_HOME=" + t.TempDir()}
	run := func(want int, words ...string) string {
		t.Helper()
		cmd := command(t, env, words...)
		cmd.Dir = dir
		said, _ := cmd.CombinedOutput()
		equals.Is(t, want, cmd.ProcessState.ExitCode(), "%v: exit code: %s", words, said)
		return string(said)
	}
	bring := func(path string) {
		t.Helper()
		run(0, "import", path, "--mandate", "Laden", "--login", "me", "--data-dir", u.DataDir, "--yes")
		settle(t, u.tables())
	}
	bring(rows)
	if n := number(t, u.tables(), "SELECT count() FROM observations"); n != 3 {
		t.Fatalf("%d rows, want 3", n)
	}
	u.interrupt()
	u.wait()
	u = startUp(t, "--data-dir", u.DataDir, "--keep-rows", "744h")
	floor := func() (at uint64) {
		return number(t, u.tables(), "SELECT toUInt64(max(floor)) FROM checkpoints")
	}
	kept := time.Now().UTC().Add(-minKeptRows)
	at := time.Date(kept.Year(), (kept.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	must.Eventually(t, 3*expireEvery, "the floor is that of the quarter", func() bool { return floor() >= uint64(at.UnixMilli()) })
	at = time.UnixMilli(int64(floor())).UTC()             // that of the next quarter, if it began meanwhile
	run(0, "audit", "--content", "--data-dir", u.DataDir) // with --content it also counts
	if said := run(0, "doctor", "--data-dir", u.DataDir); !strings.Contains(said, "those captured from "+at.Format(time.DateOnly)+" on") || !strings.Contains(said, "2024-01-01") {
		t.Errorf("doctor: %s", said)
	}
	run(0, "login", "--url", u.URL, "--login", "me")
	ask := []string{"--url", u.URL}
	if said := run(exitFailed, append([]string{"results", "--site", "laden", "--from", "2024-01-01"}, ask...)...); !strings.Contains(said, "are no longer kept") || !strings.Contains(said, at.Format("2006-01-02T")) {
		t.Errorf("results from before: %s", said)
	}
	if said := run(0, append([]string{"results", "--site", "laden", "--from", at.Format(time.DateOnly)}, ask...)...); strings.Count(said, "A-1") == 0 && strings.Count(said, "6.00") == 0 && strings.Count(said, "600") == 0 {
		t.Errorf("results from the floor on: %s", said)
	}
	var gone string
	must.Do(t, u.tables().QueryRow("SELECT event_id FROM ingested_events WHERE (epoch, seq) IN (SELECT epoch, seq FROM expired_rows) LIMIT 1").Scan(&gone))
	if said := run(0, "trace", gone, "--data-dir", u.DataDir); !strings.Contains(said, "too old and no longer kept") {
		t.Errorf("trace: %s", said)
	}
	bring(late)
	if n := number(t, u.tables(), "SELECT toUInt64(countIf(captured_at < '2024-02-04')) * 10 + countIf(captured_at >= '2024-02-04') FROM observations"); n != 21 { // removed after ten minutes
		t.Errorf("rows: %d", n)
	}
	rebuilt := whoseLogin(t, u)
	run(0, "audit", "--content", "--data-dir", u.DataDir)
	run(0, "rebuild", "--data-dir", u.DataDir)
	equals.Is(t, 1, number(t, u.tables(), "SELECT count() FROM observations"), "rows after the rebuild")
	run(0, "audit", "--content", "--data-dir", u.DataDir)
	rebuilt()
}

// TestKeptRows: limiting by size removes no row of the last 31 days, and of age
// and size the one that removes more applies.
func TestKeptRows(t *testing.T) {
	now := time.Date(2026, 10, 10, 12, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	for _, c := range []struct {
		age        int // days
		fits, want time.Time
	}{
		{0, time.Time{}, time.Time{}},
		{0, ago(100), ago(100)},
		{0, ago(9), ago(31)},
		{40, ago(9), ago(31)},
		{40, ago(100), ago(40)},
		{40, time.Time{}, ago(40)},
	} {
		if got := (keptRows{age: time.Duration(c.age) * 24 * time.Hour, bytes: 1}).floor(now, c.fits); !got.Equal(c.want) {
			t.Errorf("kept for %d days, what fits begins at %v: %v, want %v", c.age, c.fits, got, c.want)
		}
	}
}
