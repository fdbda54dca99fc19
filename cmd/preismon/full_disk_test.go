package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// fullDisk takes nothing.
type fullDisk struct{}

var errDiskFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errDiskFull }

// TestTokenStaysBeforeWhatIsNotWritten: rows that could not be written come
// again, because the kept token is still the one before them.
func TestTokenStaysBeforeWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"itemId":"1"}],"progress":{"token":"t2","upToDate":true}}`)
	}))
	defer server.Close()
	state := filepath.Join(t.TempDir(), "state")
	for _, command := range []string{"changes", "alerts"} {
		must.Do(t, os.WriteFile(state, []byte("t1\n"), 0o600))
		var errs bytes.Buffer
		code := run(t.Context(), []string{command, "--state", state, "--url", server.URL, "--token", "any"}, streams{strings.NewReader(""), fullDisk{}, &errs})
		kept, err := os.ReadFile(state)
		if err != nil || code != exitFailed || string(kept) != "t1\n" || !strings.Contains(errs.String(), errDiskFull.Error()) {
			t.Errorf("%s: exit code %d, kept %q, %v\n%s", command, code, kept, err, errs.String())
		}
	}
}

// syncedOutput notes the file of the token at each sync.
type syncedOutput struct {
	*os.File
	state string
	kept  []string
}

func (o *syncedOutput) Sync() error {
	text, err := os.ReadFile(o.state)
	o.kept = append(o.kept, string(text))
	return errors.Join(err, o.File.Sync())
}

// TestRowsAreOnDiskBeforeTheirToken: after a power loss, rows come twice at
// worst.
func TestRowsAreOnDiskBeforeTheirToken(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("since") == "t1" {
			fmt.Fprint(w, `{"data":[{"itemId":"1"}],"progress":{"token":"t2","upToDate":false}}`)
			return
		}
		fmt.Fprint(w, `{"data":[],"progress":{"token":"t3","upToDate":true}}`) // nothing to sync
	}))
	defer server.Close()
	state := file(t, "state", "t1\n")
	rows := must.Get(os.Create(filepath.Join(t.TempDir(), "rows")))(t)
	defer rows.Close()
	out := &syncedOutput{File: rows, state: state}
	var errs bytes.Buffer
	code := run(t.Context(), []string{"changes", "--state", state, "--url", server.URL, "--token", "any"}, streams{strings.NewReader(""), out, &errs})
	if kept := string(read(t, state)); code != 0 || kept != "t3\n" || !slices.Equal(out.kept, []string{"t1\n"}) {
		t.Errorf("exit code %d, kept %q, at each sync %q\n%s", code, kept, out.kept, errs.String())
	}
}

// secondFails takes what is written first, and nothing more.
type secondFails struct{ written int }

func (s *secondFails) Write(p []byte) (int, error) {
	if s.written++; s.written > 1 {
		return 0, errDiskFull
	}
	return len(p), nil
}

// TestGoesOnBeforeWhatIsNotWritten: without a file for the token, it is printed
// how to get the rows that could not be written.
func TestGoesOnBeforeWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data":[{"itemId":"1"}],"progress":{"token":"%sx","upToDate":false}}`, r.URL.Query().Get("since"))
	}))
	defer server.Close()
	var errs bytes.Buffer
	code := run(t.Context(), []string{"changes", "--since", "t", "--url", server.URL, "--token", "any"}, streams{strings.NewReader(""), &secondFails{}, &errs})
	if code != exitFailed || !strings.Contains(errs.String(), "Continue with: preismon changes --since tx\n") || !strings.Contains(errs.String(), errDiskFull.Error()) {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// TestOutputKeepsItsMode: a file that is replaced stays as private as it was, and
// as public.
func TestOutputKeepsItsMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666} {
		name := file(t, "prices.csv", "old")
		must.Do(t, os.Chmod(name, mode))
		out := must.Get(createOutput(name))(t)
		if info, err := out.Stat(); err != nil || info.Mode().Perm() != mode {
			t.Errorf("its part is %v, want %v: %v", info.Mode(), mode, err)
		}
		must.Do(t, out.complete())
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("it is %v, want %v: %v", info.Mode(), mode, err)
		}
	}
}

// TestFilesOfTwoRunsDoNotMix: each of two runs writes a file of its own until it
// is complete.
func TestFilesOfTwoRunsDoNotMix(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "prices.csv")
	one := must.Get(createPart(name, ""))(t)
	defer one.Close()
	two := must.Get(createPart(name, ""))(t)
	defer two.Close()
	if one.Name() == two.Name() || !strings.HasPrefix(one.Name(), name) || !strings.HasSuffix(one.Name(), ".part") {
		t.Errorf("%s and %s", one.Name(), two.Name())
	}
}
