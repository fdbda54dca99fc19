package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		must(t, os.WriteFile(state, []byte("t1\n"), 0o600))
		var errs bytes.Buffer
		code := run(t.Context(), []string{command, "--state", state, "--url", server.URL, "--token", "any"}, streams{strings.NewReader(""), fullDisk{}, &errs})
		kept, err := os.ReadFile(state)
		if err != nil || code != exitFailed || string(kept) != "t1\n" || !strings.Contains(errs.String(), errDiskFull.Error()) {
			t.Errorf("%s: exit code %d, kept %q, %v\n%s", command, code, kept, err, errs.String())
		}
	}
}

// TestFilesOfTwoRunsDoNotMix: each of two runs writes a file of its own until it
// is complete.
func TestFilesOfTwoRunsDoNotMix(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "prices.csv")
	one, err := createPart(name)
	must(t, err)
	defer one.Close()
	two, err := createPart(name)
	must(t, err)
	defer two.Close()
	if one.Name() == two.Name() || !strings.HasPrefix(one.Name(), name) || !strings.HasSuffix(one.Name(), ".part") {
		t.Errorf("%s and %s", one.Name(), two.Name())
	}
}
