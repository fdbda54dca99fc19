package look

import (
	"bytes"
	"html/template"
)

// Card is a page with a single message. It has the look of the reference, whose
// style sheet it uses, and is readable without it.
type Card struct {
	Lang, Title string
	Root        string // the path from this page to the front page: ends with a slash
	Prose       bool   // Body is a text to read
	Body        template.HTML
}

var card = template.Must(template.New("card").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{{.Title}} · preismon</title>
<link rel="stylesheet" href="{{.Root}}docs/style.css">
</head>
<body class="problem">
<header class="top"><p class="wordmark"><a href="{{.Root}}">preis<b>mon</b></a></p></header>
<main class="card{{if .Prose}} prose{{end}}">
{{.Body}}</main>
</body>
</html>
`))

// HTML returns the page.
func (c Card) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := card.Execute(&b, c)
	return b.Bytes(), err
}
