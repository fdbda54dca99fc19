package rest

import (
	"bytes"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"preismon/query/accept"
	"preismon/query/look"
)

// nothing is the page of a path without anything, by language. It has the look
// of the reference, and is readable without.
var nothing = map[string]*template.Template{
	"en": nothingPage("en", "There is nothing here", "Nothing is at this address. It may have been mistyped, or be of another version.", "Front page", "Explorer", "Reference"),
	"de": nothingPage("de", "Hier ist nichts", "Unter dieser Adresse gibt es nichts. Vielleicht ist sie verschrieben oder von einer anderen Version.", "Startseite", "Preise erkunden", "Referenz"),
}

func nothingPage(lang, title, words, front, explorer, reference string) *template.Template {
	return template.Must(template.New(lang).Parse(`<!doctype html>
<html lang="` + lang + `">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>` + title + ` · preismon</title>
<link rel="stylesheet" href="{{.}}docs/style.css">
</head>
<body class="problem">
<header class="top"><p class="wordmark"><a href="{{.}}">preis<b>mon</b></a></p></header>
<main class="card">
<h1>` + title + `</h1>
<p class="lead">404</p>
<p>` + words + `</p>
<p class="links"><a href="{{.}}">` + front + `</a> <a href="{{.}}explorer/">` + explorer + `</a> <a href="{{.}}docs">` + reference + `</a></p>
</main>
</body>
</html>
`))
}

// nothingForPeople answers a browser with a page, and tells whether it did.
// Programs, and all that asks below /v1 and /ext/v1, get a problem.
func (a *api) nothingForPeople(c *gin.Context) bool {
	r := c.Request
	if underContract(r.URL.Path) || r.Method != http.MethodGet || !slices.ContainsFunc(accept.Ranges(r.Header.Values("Accept")), func(r accept.Range) bool { return r.Media == "text/html" && r.Weight > 0 }) {
		return false
	}
	// Relative: a proxy may have taken a path away.
	root := "./" + strings.Repeat("../", max(0, strings.Count(r.URL.Path, "/")-1))
	var b bytes.Buffer
	if err := nothing[look.SpokenBy(r)].Execute(&b, root); err != nil {
		return false
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; style-src 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept, Accept-Language")
	c.Writer.WriteHeader(http.StatusNotFound)
	_, _ = c.Writer.Write(b.Bytes()) // who does not get it sees that
	return true
}
