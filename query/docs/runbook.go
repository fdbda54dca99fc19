package docs

import (
	"bytes"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"

	"preismon/query/look"
)

var runbookFrame = template.Must(template.New("runbook").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Runbook · preismon</title>
<link rel="stylesheet" href="style.css">
</head>
<body class="problem">
<header class="top"><p class="wordmark"><a href="../">preis<b>mon</b></a></p></header>
<main class="card prose">
{{.}}</main>
</body>
</html>
`))

// runbookPage makes a page of the runbook, in which each heading has the address
// that an alert links to.
func runbookPage(text string) (look.File, error) {
	var body, page bytes.Buffer
	if err := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID())).Convert([]byte(text), &body); err != nil {
		return look.File{}, err
	}
	if err := runbookFrame.Execute(&page, template.HTML(body.String())); err != nil { //nolint:gosec // made by goldmark, which leaves HTML out
		return look.File{}, err
	}
	return look.NewFile("runbook.html", page.Bytes()), nil
}
