package main

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

// TestAuditArchives: an audit names each copy that is missing from an archive
// or damaged in it, by file and archive; a repair restores it from a good copy,
// after which every account can download it. It audits the folder of up, another
// folder, and a bucket, or a third folder where there is no S3 server; no secret
// appears in any output.
func TestAuditArchives(t *testing.T) {
	t.Parallel()
	folderPlace, thirdPlace, secret := t.TempDir(), t.TempDir(), ""
	third := openFolder(t, thirdPlace)
	if os.Getenv(effort.Variable) == "full" {
		thirdPlace, third = bucketURL(t, true)
		place := must.Get(url.Parse(thirdPlace))(t)
		secret, _ = place.User.Password()
	}
	u := startUp(t, "--archive", folderPlace, "--archive", thirdPlace)
	b := u.bus(t)
	m, catalogue, _ := aMarket(t, market.Config{Seed: 3, Scale: 0.02}, time.Hour)
	files := 0
	for _, e := range catalogue {
		if d, ok := e.Data.(*contracts.FileArchive); ok {
			files += len(d.Files)
		}
		b.send(t, e)
	}
	own, folder := openFolder(t, filepath.Join(u.DataDir, "artifacts")), openFolder(t, folderPlace)
	stores := []archive.Store{own, folder, third}
	putFiles(t, m, stores...) // a third of them in each
	audit := func(args ...string) (a archivesAudit, text string, code int) {
		t.Helper()
		args = append([]string{"audit", "--archives", "--data-dir", u.DataDir, "--archive", folderPlace, "--archive", thirdPlace}, args...)
		out, errs, code := inProcess(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			t.Fatalf("exit code %d: %s%s %v", code, out, errs, err)
		}
		if slices.Contains(args, "--repair") {
			return a, "", code
		}
		if a.Files != uint64(files) {
			return a, "", code // more arrive in the tables
		}
		text, errs, again := inProcess(t, args...)
		if again != code || (secret != "" && strings.Contains(out+text+errs, secret)) {
			t.Errorf("exit codes %d and %d, or the secret is in: %s%s%s", code, again, out, text, errs)
		}
		for _, f := range a.Findings {
			if !strings.Contains(text, f.Text) || !strings.Contains(f.Text, f.Key) || !strings.Contains(f.Text, f.Archive) || !strings.Contains(f.Text, strconv.Quote(f.Filename)) {
				t.Errorf("it does not say %q: %s", f.Text, text)
			}
		}
		return a, text, code
	}
	must.Eventually(t, time.Minute, "the catalogue is in the tables", func() bool { a, _, _ := audit(); return a.Files == uint64(files) })

	there := 0
	for range m.Artifacts() {
		there++
	}
	lost := files - there
	if lost == 0 {
		t.Fatal("the market has no file without a content")
	}
	a, text, code := audit()
	if code != exitFound || len(a.Findings) != 3*lost+2*there || !strings.Contains(text, "With --repair") {
		t.Errorf("exit code %d, %d findings, want %d: %.2000s", code, len(a.Findings), 3*lost+2*there, text)
	}
	repair := func(want int) {
		t.Helper()
		a, _, code := audit("--repair")
		repaired := 0
		for _, f := range a.Findings {
			if f.Repaired {
				repaired++
			} else if f.Good > 0 {
				t.Errorf("not repaired: %s", f.Text)
			}
		}
		if code != exitFound || repaired != want || len(a.Findings) != want+3*lost {
			t.Errorf("exit code %d, %d of %d repaired, want %d", code, repaired, len(a.Findings), want)
		}
	}
	repair(2 * there)
	if a, text, code := audit(); code != exitFound || len(a.Findings) != 3*lost || strings.Contains(text, "With --repair") || !strings.Contains(text, "no archive has a good copy") {
		t.Errorf("after the repair: exit code %d, %d findings, want %d: %.2000s", code, len(a.Findings), 3*lost, text)
	}

	// The same length but other bytes, in every copy of one file except the
	// last.
	spoilt := spoil(t, filepath.Join(u.DataDir, "artifacts"))
	if second := spoil(t, folderPlace); second != spoilt {
		t.Fatalf("%s and %s", spoilt, second)
	}
	a, _, _ = audit()
	damaged := 0
	for _, f := range a.Findings {
		if f.What == archive.Damaged && f.Key == spoilt && f.Good == 1 {
			damaged++
		}
	}
	if damaged != 2 {
		t.Errorf("%d damaged copies of %s, want 2: %+v", damaged, spoilt, a.Findings)
	}
	repair(2)
	c := u.client()
	for _, account := range m.Accounts() {
		if !strings.HasPrefix(account.LoginIdentifier, "anna@") {
			continue
		}
		if n, lost := wantFiles(t, c.login(account.LoginIdentifier, account.Password), m, catalogOf(m).accounts[account.LoginIdentifier].MandateID); n == 0 || lost != 0 {
			t.Errorf("%d files, %d of them lost", n, lost)
		}
	}

	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"--repair"}, "only with archives"},
		{[]string{"--archive", folderPlace}, "only with archives"},
		{[]string{"--archives", "--content"}, "cannot be combined with archives"},
		{[]string{"--archives", "--archive", folderPlace, "--archive", folderPlace}, "archive 2: named twice"},
		{[]string{"--archives", "--archive", "s3://KEY@h/b"}, "archive 1: "},
	} {
		out, errs, code := inProcess(t, append([]string{"audit", "--data-dir", u.DataDir}, c.args...)...)
		says(t, out, errs, code, exitUsage, c.words)
	}
	r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	out, errs, code := inProcess(t, "audit", "--archives", "--clickhouse-dsn", r.ProjectorDSN)
	says(t, out, errs, code, exitUsage, "archive: missing")
	out, errs, code = inProcess(t, "audit", "--archives", "--data-dir", u.DataDir, "--archive", folderPlace+"/none")
	says(t, out, errs, code, exitFailed, "archive 2: ")
}

func openFolder(t *testing.T, path string) archive.Store {
	t.Helper()
	d := must.Get(archive.NewDir(path))(t)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// spoil changes a byte of the first file that is not empty.
func spoil(t *testing.T, dir string) (key string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "exports"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 {
			return err
		}
		content[len(content)/2] ^= 1
		if key, err = filepath.Rel(dir, path); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
		return fs.SkipAll
	})
	if err != nil || key == "" {
		t.Fatal(key, err)
	}
	return key
}
