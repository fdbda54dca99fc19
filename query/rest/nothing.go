package rest

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"preismon/query/accept"
	"preismon/query/look"
)

// nothing holds the texts of the page for a path that does not exist, by
// language.
var nothing = map[string]struct{ title, words, front, explorer, reference string }{
	"en": {"There is nothing here", "Nothing is at this address. It may have been mistyped, or be of another version.", "Front page", "Explorer", "Reference"},
	"de": {"Hier ist nichts", "Unter dieser Adresse gibt es nichts. Vielleicht ist sie verschrieben oder von einer anderen Version.", "Startseite", "Preise erkunden", "Referenz"},
}

// nothingPage returns that page in a language; root is where the front page is.
func nothingPage(lang, root string) ([]byte, error) {
	say := nothing[lang]
	body := `<h1>` + say.title + `</h1>
<p class="lead">404</p>
<p>` + say.words + `</p>
<p class="links"><a href="` + root + `">` + say.front + `</a> <a href="` + root + `explorer/">` + say.explorer + `</a> <a href="` + root + `docs">` + say.reference + `</a></p>
`
	return look.Card{Lang: lang, Title: say.title, Root: root, Body: template.HTML(body)}.HTML() //nolint:gosec // our own texts, and dots and slashes
}

// nothingForPeople answers a browser with a page, and reports whether it did.
// Programs, and all requests below /v1 and /ext/v1, get a problem.
func (a *api) nothingForPeople(c *gin.Context) bool {
	r := c.Request
	if underContract(r.URL.Path) || r.Method != http.MethodGet || !slices.ContainsFunc(accept.Ranges(r.Header.Values("Accept")), func(r accept.Range) bool { return r.Media == "text/html" && r.Weight > 0 }) {
		return false
	}
	// Relative: a proxy may have removed a path prefix.
	root := "./" + strings.Repeat("../", max(0, strings.Count(r.URL.Path, "/")-1))
	page, err := nothingPage(look.SpokenBy(r), root)
	if err != nil {
		return false
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; style-src 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept, Accept-Language")
	c.Writer.WriteHeader(http.StatusNotFound)
	_, _ = c.Writer.Write(page) // a client that does not get it notices
	return true
}
