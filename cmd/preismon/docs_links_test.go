package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/must"
)

// TestLinks: every relative link in every Markdown file leads to an existing
// file, and to an existing heading in it.
func TestLinks(t *testing.T) {
	links := 0
	for _, name := range ownFiles(t, "*.md") {
		path := filepath.Join(rootFolder, name)
		doc, _ := markdown(t, path)
		for _, to := range targets(doc) {
			u, err := url.Parse(to)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.IsAbs() || strings.HasPrefix(to, "{base_url}") {
				continue
			}
			links++
			target := path
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(u.Path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, to, err)
				continue
			}
			if u.Fragment != "" && !anchors(markdown(t, target))[u.Fragment] {
				t.Errorf("%s links to %s, where no heading is called that", name, to)
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links looked at", links)
	}
}

func targets(doc ast.Node) (all []string) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				all = append(all, string(n.Destination))
			}
		case *ast.Image:
			if entering {
				all = append(all, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return all
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors returns the anchors that code forges assign to headings.
func anchors(doc ast.Node, source []byte) map[string]bool {
	all := map[string]bool{}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(plain(h, source)), ""), " ", "-")] = true
		}
		return ast.WalkContinue, nil
	})
	return all
}

// TestServedDocuments: the addresses of the contract that the README names are served.
func TestServedDocuments(t *testing.T) {
	served := map[string]bool{}
	for _, d := range must.Get(openapi.Documents("http://127.0.0.1"))(t) {
		served[d.Path] = true
	}
	text := must.Get(os.ReadFile("../../README.md"))(t)
	named := regexp.MustCompile("`(/openapi/[^`]*)`").FindAllStringSubmatch(string(text), -1)
	for _, n := range named {
		if !served[n[1]] {
			t.Errorf("%s is not served", n[1])
		}
	}
	if len(named) == 0 {
		t.Error("the README names no address of the contract")
	}
}
