package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// inProcess runs a command within the test, for tests that depend on no
// variable.
func inProcess(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{strings.NewReader(""), &out, &errs})
	return out.String(), errs.String(), code
}

// exits checks the exit code of a command, and that it says the words: on
// standard error if it failed, otherwise on standard output.
func exits(t *testing.T, want int, words ...string) func(stdout, stderr string, code int) {
	t.Helper()
	return func(stdout, stderr string, code int) {
		t.Helper()
		said := stdout
		if want == exitFailed || want == exitUsage {
			said = stderr
		}
		lacks := func(word string) bool { return !strings.Contains(said, word) }
		if code != want || slices.ContainsFunc(words, lacks) {
			t.Errorf("exit code %d, want %d with %q: %s%s", code, want, words, stdout, stderr)
		}
	}
}

// TestExitCodesOfCommands goes over all commands: help is 0 and has an example
// whose flags exist, and wrong usage is 2 and names the command's help.
func TestExitCodesOfCommands(t *testing.T) {
	t.Parallel()
	parser := must.Get(kong.New(newCLI(), kong.Name("preismon"), kong.Vars(defaults())))(t)
	commands := parser.Model.Leaves(true)
	if len(commands) < 30 {
		t.Fatalf("%d commands: the walk is broken", len(commands))
	}
	for i, n := range commands {
		path := strings.Fields(n.Path())
		command := "preismon " + strings.Join(path, " ")
		if i%effort.Often(7, 1) == 0 {
			out, errs, code := inProcess(t, append(path, "--no-such-flag")...)
			if code != exitUsage || out != "" || !strings.Contains(errs, "See `"+command+" --help`") {
				t.Errorf("%s --no-such-flag: exit code %d: %s%s", command, code, out, errs)
			}
		}
		out, errs, code := inProcess(t, append(path, "--help")...)
		if code != 0 || errs != "" || !strings.Contains(out, "Usage: "+command) {
			t.Errorf("%s --help: exit code %d: %s%s", command, code, out, errs)
		}
		if strings.Contains(out, "($-)") {
			t.Errorf("%s --help names a variable that is none:\n%s", command, out)
		}
		_, example, ok := strings.Cut(out, "Example")
		if !ok || !strings.Contains(example, command) {
			t.Errorf("%s --help has no example:\n%s", command, out)
			continue
		}
		if n.Name == "explain" { // its flags are those of the command that it explains
			continue
		}
		known := map[string]bool{}
		for _, group := range n.AllFlags(false) {
			for _, f := range group {
				known[f.Name] = true
				for _, alias := range f.Aliases {
					known[alias] = true
				}
				if f.PlaceHolder != "" && len(f.Default) > 1 && !strings.Contains(f.Help, "Default: "+f.Default) {
					t.Errorf("%s: the help of --%s hides its default %s", command, f.Name, f.Default)
				}
				if f.Help == "" {
					t.Errorf("%s: --%s has no help", command, f.Name)
				}
			}
		}
		example, _, _ = strings.Cut(example, "\nFlags:")
		for _, m := range regexp.MustCompile(`--([a-z][a-z-]*)`).FindAllStringSubmatch(example, -1) {
			if !known[m[1]] {
				t.Errorf("the example of %s has a flag --%s that it does not know", command, m[1])
			}
		}
	}
	all, _, code := inProcess(t)
	if code != 0 || !strings.Contains(all, "preismon up --demo\n\nUse it:") {
		t.Errorf("without a command: exit code %d: %s", code, all)
	}
}
