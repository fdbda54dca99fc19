package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"

	source "golang.org/x/tools/go/packages"
)

// TestOtherSystems: the module also compiles for macOS and Windows, as far as
// type checking shows; no file is chosen by the processor. Function bodies of
// other modules are skipped: this takes seconds, whereas a build from an empty
// cache takes minutes.
func TestOtherSystems(t *testing.T) {
	effort.Full(t, "other systems")
	root := must.Get(filepath.Abs(rootFolder))(t)
	ours := func(name string) bool { return strings.HasPrefix(name, root+string(filepath.Separator)) }
	for _, platform := range []string{"darwin/arm64", "windows/amd64"} {
		t.Run(platform, func(t *testing.T) {
			system, processor, _ := strings.Cut(platform, "/")
			loaded := must.Get(source.Load(&source.Config{
				Context: t.Context(), Dir: root, Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
				Mode: source.LoadAllSyntax | source.NeedModule,
				ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
					file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
					if file == nil || ours(name) {
						return file, err
					}
					for _, d := range file.Decls {
						if f, ok := d.(*ast.FuncDecl); ok {
							f.Body = nil
						}
					}
					return file, err
				},
			}, "./..."))(t)
			seen := 0
			source.Visit(loaded, nil, func(p *source.Package) {
				if p.Module == nil || !p.Module.Main {
					return
				}
				seen++
				for _, e := range p.Errors {
					t.Error(e)
				}
			})
			if seen < 40 {
				t.Errorf("only %d packages of preismon were looked at", seen)
			}
		})
	}
}
