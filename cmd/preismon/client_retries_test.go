package main

import (
	"strings"
	"sync"
	"testing"
)

// TestRetriesAreOneLine: where nothing answers, a read reports in one line that
// it tries again, and in the next what may be wrong.
func TestRetriesAreOneLine(t *testing.T) {
	t.Parallel()
	address := "http://" + freeAddress(t)
	var reads sync.WaitGroup // all at once: each waits for seconds
	defer reads.Wait()
	for _, command := range [][]string{{"results", "--limit", "3"}, {"sites"}, {"stream"}} {
		reads.Go(func() {
			out, errs, code := inProcess(t, append(command, "--url", address, "--token", "any")...)
			lines := strings.Split(strings.TrimSpace(errs), "\n")
			if code != exitFailed || out != "" || len(lines) != 2 || strings.Count(errs, "Trying again") != 1 || !strings.HasPrefix(lines[1], "preismon: nothing answers at "+address+": is it running") {
				t.Errorf("%v: exit code %d, %d lines: %s%s", command, code, len(lines), out, errs)
			}
		})
	}
}
