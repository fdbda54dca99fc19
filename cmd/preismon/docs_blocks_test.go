package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"preismon/deploy/testserver/must"
)

// docsFolder contains the documentation, rootFolder the README.
var (
	rootFolder = filepath.Join("..", "..")
	docsFolder = filepath.Join(rootFolder, "deploy", "docs")
)

// notRun begins a paragraph above a block that the tests do not run; the
// reason follows.
const notRun = "Not run by the tests: "

// docBlock is a block of commands in a document.
type docBlock struct {
	name     string // its first line
	language string
	commands []docCommand
	reason   string // why it is not run; empty: it is
}

// docCommand is one command as a person types it, and the lines shown after it,
// in which "…" stands for anything.
type docCommand struct {
	text string
	want []string
}

// markdown reads a document.
func markdown(t *testing.T, name string) (doc ast.Node, source []byte) {
	t.Helper()
	source = must.Get(os.ReadFile(name))(t)
	return goldmark.DefaultParser().Parse(text.NewReader(source)), source
}

// blocks returns the commands of a document, in order. A block of sh is one
// command; in a block of console, each line that begins with "$ " is a command,
// and the lines after it are its output. Indented blocks, as in the README, are
// sh. A block of python is passed to python3, one of r to Rscript, and one of
// sql is a statement. Any other language must be known not to be a command.
func blocks(t *testing.T, name string) (all []docBlock) {
	t.Helper()
	doc, source := markdown(t, name)
	must.Do(t, ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		language := "sh"
		if fenced, ok := n.(*ast.FencedCodeBlock); ok {
			language = string(fenced.Language(source))
		} else if _, ok := n.(*ast.CodeBlock); !ok {
			return ast.WalkContinue, nil
		}
		body := blockText(n, source)
		var b docBlock
		switch language {
		case "sh":
			b.commands = []docCommand{{text: body}}
		case "console":
			b.commands = session(t, name, body)
		case "python":
			b.commands = []docCommand{{text: "python3 - <<'PYTHON'\n" + body + "PYTHON"}}
		case "r":
			b.commands = []docCommand{{text: "Rscript - <<'END'\n" + body + "END"}}
		case "sql":
			b.commands = []docCommand{{text: body}}
		case "", "json", "yaml", "xml", "text": // what a program prints, or a file contains
			return ast.WalkContinue, nil
		default:
			t.Errorf("%s: nothing runs blocks of %q", name, language)
			return ast.WalkContinue, nil
		}
		b.language = language
		b.name, _, _ = strings.Cut(strings.TrimPrefix(body, "$ "), "\n")
		if before := n.PreviousSibling(); before != nil {
			_, b.reason, _ = strings.Cut(plain(before, source), notRun)
		}
		all = append(all, b)
		return ast.WalkContinue, nil
	}))
	return all
}

// session splits a terminal session into commands and their output.
func session(t *testing.T, name, body string) (all []docCommand) {
	t.Helper()
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		command, ok := strings.CutPrefix(line, "$ ")
		switch more, continued := strings.CutPrefix(line, "> "); {
		case ok:
			all = append(all, docCommand{text: command})
		case len(all) == 0:
			t.Fatalf("%s: the session begins with output: %s", name, line)
		case continued && len(all[len(all)-1].want) == 0:
			all[len(all)-1].text += "\n" + more
		default:
			all[len(all)-1].want = append(all[len(all)-1].want, line)
		}
	}
	return all
}

// blockText is the text of a block.
func blockText(n ast.Node, source []byte) string {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	return b.String()
}

// plain is the text of a node without its markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// TestSession checks the parsing of sessions: a parser that overlooks commands
// would make all tests pass.
func TestSession(t *testing.T) {
	got := session(t, "here", "$ one \\\n>   more\nout\n> out\n$ two\n")
	want := []docCommand{{"one \\\n  more", []string{"out", "> out"}}, {"two", nil}}
	if len(got) != 2 || got[0].text != want[0].text || strings.Join(got[0].want, "|") != "out|> out" || got[1].text != "two" {
		t.Errorf("%q, want %q", got, want)
	}
	for _, c := range []struct {
		output, want string
		ok           bool
	}{
		{"a\nb\nc", "a\nc", true}, {"a\nb", "b\na", false}, {"a 12 b", "a … b", true}, {"xa", "a", false}, {"  a  b", "a b", true}, {"a", "…", true}, {"", "a", false}, {"a.b", "a…c", false},
	} {
		if missing := unsaid(c.output, strings.Split(c.want, "\n")); (missing == "") != c.ok {
			t.Errorf("%q in %q: missing %q", c.want, c.output, missing)
		}
	}
}
