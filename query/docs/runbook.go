package docs

import (
	"bytes"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"

	"preismon/query/look"
)

// runbookPage renders the runbook as a page in which each heading has the
// address that its alert links to.
func runbookPage(text string) (look.File, error) {
	var body bytes.Buffer
	if err := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID())).Convert([]byte(text), &body); err != nil {
		return look.File{}, err
	}
	page, err := look.Card{Lang: "en", Title: "Runbook", Root: "../", Prose: true, Body: template.HTML(body.String())}.HTML() //nolint:gosec // made by goldmark, which leaves HTML out
	return look.NewFile("runbook.html", page), err
}
