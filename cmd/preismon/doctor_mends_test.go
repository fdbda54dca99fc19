package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"preismon/cmd/preismon/doctor"
	"preismon/deploy/testserver/must"
)

// mendValues replace what a user of the commands of doctor fills in.
var mendValues = map[string]string{
	"N": "0", "M": "1", "AGE": "24h", "PLACE": "place", "URL": "nats://127.0.0.1:4222", "DSN": "clickhouse://user:password@127.0.0.1:9000/database",
}

// TestMendsParse: each command of this program that doctor recommends exists
// with its flags, for a folder and for servers of one's own; those on such
// servers lack nothing when it is filled in.
func TestMendsParse(t *testing.T) {
	t.Parallel()
	folder, servers := siteFlags{DataDir: "/data/up"}.named(), siteFlags{}.named()
	parsed := 0
	for _, m := range mends(t) {
		for _, flags := range []doctor.Flags{folder, servers} {
			if flags == servers && m.folderOnly {
				continue
			}
			line, complete := m.with(flags)
			var errs strings.Builder
			std := streams{strings.NewReader(""), &errs, &errs}
			if _, err := newParser(t.Context(), newCLI(), std, func(int) {}).Parse(line); err != nil {
				t.Errorf("preismon %s: %v", strings.Join(line, " "), err)
				continue
			}
			parsed++
			if flags == servers && complete {
				out, errs, code := inProcess(t, append(line, "--check")...)
				says(t, out, errs, code, 0)
			}
		}
	}
	if parsed < 30 {
		t.Errorf("%d commands: they were not found in the source", parsed)
	}
}

// mend is a command as the source builds it.
type mend struct {
	of         string // the function that adds the flags of the site; empty: it has none
	text       string
	folderOnly bool
}

// siteHere stands in the text of a command for the flags of a site.
const siteHere = "\x00"

// with returns the words after "preismon" for a site. The command is complete
// if all its flags are named.
func (m mend) with(f doctor.Flags) (words []string, complete bool) {
	flags := map[string]string{"command": f.Both, "natsCommand": f.NATS, "tablesCommand": f.Tables, "archivesCommand": f.Archives}[m.of]
	text, _, _ := strings.Cut(strings.Replace(m.text, siteHere, flags, 1), " #")
	for _, w := range strings.Fields(text)[1:] {
		if value, ok := mendValues[w]; ok {
			w = value
		}
		if w != "..." {
			words = append(words, w)
		}
	}
	return words, m.of != ""
}

// isMendOf reports whether a function of doctor adds the flags of the site to a command.
func isMendOf(function string) bool {
	return strings.HasSuffix(strings.ToLower(function), "command")
}

// mends reads the commands of this program from the source of doctor.
func mends(t *testing.T) (all []mend) {
	t.Helper()
	files := must.Get(filepath.Glob("doctor/*.go"))(t)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source := must.Get(os.ReadFile(name))(t)
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, source, 0))(t)
		for _, d := range file.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if !ok || isMendOf(fun.Name.Name) {
				continue
			}
			ast.Inspect(fun, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				m := mend{folderOnly: fun.Name.Name == "backups" || fun.Name.Name == "restores"}
				if m.text = m.read(t, e); !strings.HasPrefix(m.text, "preismon ") {
					return true
				}
				all = append(all, m)
				return false
			})
		}
	}
	return all
}

// read returns the text of an expression; what is only known later is a word in
// it.
func (m *mend) read(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return m.read(t, e.X) + m.read(t, e.Y)
		}
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text := must.Get(strconv.Unquote(e.Value))(t)
			return text
		}
	case *ast.CallExpr:
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && isMendOf(s.Sel.Name) {
			m.of = s.Sel.Name
			return "preismon " + m.read(t, e.Args[0]) + " " + siteHere
		}
	}
	return "VALUE"
}
