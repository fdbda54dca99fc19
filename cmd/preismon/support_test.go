package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// logLine is the part of a log line that the tests read.
type logLine struct {
	Time   time.Time `json:"time"`
	Level  string    `json:"level"`
	Msg    string    `json:"msg"`
	Listen string    `json:"listen"`
	Admin  string    `json:"admin"`
}

// logLines returns the log lines in what a process wrote.
func logLines(text string) (all []logLine) {
	for line := range strings.Lines(text) {
		var l logLine
		if json.Unmarshal([]byte(line), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// message returns what a process wrote apart from its log.
func message(stderr string) string {
	var all []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "{") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}

// contains checks that a text has all the words.
func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// file writes a file for the test and returns its name.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// ndjson writes events as lines.
func ndjson(t *testing.T, w io.Writer, events []*event.Event) {
	t.Helper()
	out := bufio.NewWriter(w)
	for _, e := range events {
		text := must.Get(event.Encode(e))(t)
		_, _ = out.Write(append(text, '\n'))
	}
	must.Do(t, out.Flush())
}
