package doctor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestMendsAreCommands: every problem found comes with a command, which can be
// given to the shell after its words in capitals are replaced.
func TestMendsAreCommands(t *testing.T) {
	files := must.Get(os.ReadDir("."))(t)
	programs := []string{"preismon ", "curl ", "nats ", "clickhouse ", "openssl ", "du ", "df ", "free ", "ps ", "ulimit ", "timedatectl "}
	looked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file := must.Get(parser.ParseFile(set, f.Name(), nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "one" || len(call.Args) < 4 {
				return true
			}
			if state, ok := call.Args[1].(*ast.Ident); ok && state.Name == "OK" {
				return true
			}
			looked++
			mend := call.Args[2]
			for {
				sum, ok := mend.(*ast.BinaryExpr)
				if !ok {
					break
				}
				mend = sum.X
			}
			text, ok := mend.(*ast.BasicLit)
			if !ok { // from a function or a variable, which is checked where it is built
				return true
			}
			said := must.Get(strconv.Unquote(text.Value))(t)
			for _, p := range programs {
				if strings.HasPrefix(said, p) {
					return true
				}
			}
			t.Errorf("%s: %q is no command", set.Position(call.Pos()), said)
			return true
		})
	}
	if looked < 30 {
		t.Errorf("%d findings: they were not found in the source", looked)
	}
}
