package main

import (
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/yuin/goldmark/ast"

	"preismon/deploy/testserver/must"
)

var (
	callsProgram = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:preismon|go|curl|kubectl|docker|npx|npm|claude|duckdb|kill|apt|apt-get|sed|grep|python3?|nats|make|git|sh|bash|\.ci/run)\s+(.*)`)
	placeholder  = regexp.MustCompile(`\b[A-Z][A-Z_]+\b|…`)
	namedTest    = regexp.MustCompile(`\bTest[A-Z]\w*|\b\w+_test\.go\b|\b(?:cmd|deploy|query|ingest|projector)/[\w/]+`)
)

// inline: each command within a sentence is the name of a preismon command, a
// request for its help, part of a block, or listed in inlineElsewhere or
// nowhere.
func (r *reader) inline(t *testing.T) {
	left := maps.Clone(inlineElsewhere)
	seen := 0
	for name, path := range allDocuments(t) {
		for _, text := range inlineCommands(t, path) {
			seen++
			_, listed := inlineElsewhere[text]
			_, nobody := nowhere[text]
			delete(left, text)
			delete(r.unmet, text)
			words := strings.Fields(text)
			help := words[0] == "preismon" && words[len(words)-1] == "--help"
			switch {
			case listed || nobody || r.has(text) || words[0] == "preismon" && isCommand(words[1:]):
			case !help:
				t.Errorf("%s: nothing runs `%s`", name, text)
			default:
				if out, err := command(t, nil, words[1:]...).CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v\n%s", name, text, err, out)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d commands within sentences", seen)
	}
	for command := range left {
		t.Errorf("no document has `%s`, or a block runs it", command)
	}
}

// allDocuments returns the README and the documents under the documentation, by
// name.
func allDocuments(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"README.md": filepath.Join(rootFolder, "README.md")}
	for _, pattern := range []string{"*.md", "how-to/*.md", "reference/*.md", "../metrics.md", "../runbook/*.md"} {
		files, err := filepath.Glob(filepath.Join(docsFolder, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v %v", pattern, files, err)
		}
		for _, f := range files {
			all["docs/"+filepath.Base(f)] = f
		}
	}
	return all
}

// inlineCommands returns the code spans of a document that call a program with
// arguments.
func inlineCommands(t *testing.T, path string) (all []string) {
	t.Helper()
	doc, source := markdown(t, path)
	must.Do(t, ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if span, ok := n.(*ast.CodeSpan); ok && entering {
			if text := strings.Join(strings.Fields(plain(span, source)), " "); callsProgram.MatchString(text) {
				all = append(all, text)
			}
		}
		return ast.WalkContinue, nil
	}))
	return all
}

// has reports whether a block contains the command, in which a word in capitals
// or "…" stands for any word.
func (r *reader) has(command string) bool {
	form := regexp.MustCompile(placeholder.ReplaceAllLiteralString(regexp.QuoteMeta(command), `\S+`))
	return slices.ContainsFunc(r.texts, form.MatchString)
}

// isCommand reports whether words are the name of a command of preismon.
func isCommand(words []string) bool {
	parser := kong.Must(newCLI(), kong.Name("preismon"), kong.Vars(defaults()))
	node := parser.Model.Node
	for _, w := range words {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == w })
		if i < 0 {
			return false
		}
		node = node.Children[i]
	}
	return true
}

// TestDocsElsewhere: what is left to another test is left to a test that
// exists.
func TestDocsElsewhere(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	must.Do(t, filepath.WalkDir(rootFolder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		there[filepath.Base(path)] = true
		folder, err := filepath.Rel(rootFolder, filepath.Dir(path))
		there[filepath.ToSlash(folder)] = true
		for _, m := range function.FindAllStringSubmatch(string(read(t, path)), -1) {
			there[m[1]] = true
		}
		return err
	}))
	for _, list := range []map[string]string{elsewhere, inlineElsewhere} {
		for command, by := range list {
			name := namedTest.FindString(by)
			if !there[name] {
				t.Errorf("%s: %q names no test that there is", command, by)
			}
		}
	}
}
