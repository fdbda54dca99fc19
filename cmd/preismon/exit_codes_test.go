package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestExitCodesOfCommands goes over all commands: help is 0, and wrong usage is 2 and
// names the command's help.
func TestExitCodesOfCommands(t *testing.T) {
	parser, err := kong.New(&cli{}, kong.Name("preismon"), kong.Vars(defaults()))
	if err != nil {
		t.Fatal(err)
	}
	try := func(want int, says string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, streams{strings.NewReader(""), &out, &errs}); code != want || !strings.Contains(out.String()+errs.String(), says) {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s%s", args, code, want, says, out.String(), errs.String())
		}
	}
	commands := 0
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, c := range n.Children {
			walk(c)
		}
		if len(n.Children) > 0 || n.Hidden {
			return
		}
		commands++
		path := strings.Fields(strings.TrimPrefix(n.Path(), "preismon "))
		try(0, "Usage: preismon "+strings.Join(path, " "), append(path, "--help")...)
		try(exitUsage, "See `preismon "+strings.Join(path, " ")+" --help`", append(path, "--no-such-flag")...)
	}
	walk(parser.Model.Node)
	if commands < 30 {
		t.Errorf("%d commands: the walk is broken", commands)
	}
}
