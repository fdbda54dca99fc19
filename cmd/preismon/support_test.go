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

// file writes a file for the test and returns its name.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// program puts a script into a folder that is the whole PATH, and returns that
// variable.
func program(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	if name != "" {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	return "PATH=" + dir
}

// ndjson writes events as lines.
func ndjson(t *testing.T, w io.Writer, events []*event.Event) {
	t.Helper()
	out := bufio.NewWriter(w)
	for _, e := range events {
		text, err := event.Encode(e)
		must(t, err)
		_, _ = out.Write(append(text, '\n'))
	}
	must(t, out.Flush())
}
