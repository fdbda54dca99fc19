package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"preismon/deploy/testserver/must"
)

// TestOutputsThatAreNoFiles: a pipe stays a pipe and gets what is written, a
// link stays a link, and a folder is refused before anything is read.
func TestOutputsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	const row, file = `{"itemId":"1","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}` + "\n", "what was archived"
	var reads atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/history/download") {
			fmt.Fprint(w, file)
			return
		}
		reads.Add(1)
		fmt.Fprintf(w, `{"data":[%s],"paging":{"limit":100,"returned":1,"nextCursor":null}}`, strings.TrimSpace(row))
	}))
	defer server.Close()
	dir := t.TempDir()
	for want, command := range map[string][]string{row: {"export", "--format", "ndjson"}, file: {"history", "download", "7"}} {
		args := append(command, "--url", server.URL, "--token", "any", "-o")
		kind := func(name string) fs.FileMode {
			info := must.Get(os.Lstat(name))(t)
			return info.Mode().Type()
		}

		pipe := filepath.Join(dir, "pipe")
		must.Do(t, unix.Mkfifo(pipe, 0o600))
		end := must.Get(os.OpenFile(pipe, os.O_RDWR, 0))(t) // opens at once, and never ends
		exits(t, 0)(inProcess(t, append(args, pipe)...))
		if kind(pipe) != fs.ModeNamedPipe {
			t.Fatalf("%v: the pipe is a file now", command)
		}
		must.Do(t, end.SetReadDeadline(time.Now().Add(10*time.Second)))
		got := make([]byte, 1000)
		if n, err := end.Read(got); err != nil || string(got[:n]) != want {
			t.Errorf("%v: the reader of the pipe got %q, %v", command, got[:n], err)
		}
		must.Do(t, end.Close())

		link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
		must.Do(t, os.WriteFile(target, []byte("old"), 0o600))
		must.Do(t, os.Symlink(target, link))
		_, errs, code := inProcess(t, append(args, link)...)
		if written, err := os.ReadFile(target); code != 0 || err != nil || string(written) != want || kind(link) != fs.ModeSymlink {
			t.Errorf("%v to a link: exit code %d: %s; its target has %q", command, code, errs, written)
		}

		before := reads.Load()
		if _, errs, code := inProcess(t, append(args, dir)...); code != exitUsage || !strings.Contains(errs, dir+" is a folder") || reads.Load() != before {
			t.Errorf("%v to a folder: exit code %d: %s", command, code, errs)
		}
		must.Do(t, os.Remove(pipe))
		must.Do(t, os.Remove(link))
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
