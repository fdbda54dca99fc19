package main

import (
	"net"
	"strings"
	"testing"
)

// TestRetriesAreOneLine: where nothing answers, a read says that it tries again
// in one line, and in the next what may be wrong.
func TestRetriesAreOneLine(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String() // where nothing answers
	_ = l.Close()
	for _, command := range [][]string{{"results", "--limit", "3"}, {"sites"}, {"stream"}} {
		out, errs, code := preismon(t, nil, append(command, "--url", address, "--token", "any")...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != exitFailed || out != "" || len(lines) != 2 || strings.Count(errs, "Trying again") != 1 || !strings.HasPrefix(lines[1], "preismon: nothing answers at "+address+": is it running") {
			t.Errorf("%v: exit code %d, %d lines: %s%s", command, code, len(lines), out, errs)
		}
	}
}
