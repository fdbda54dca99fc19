package look

import (
	"bytes"
	_ "embed"
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

//go:embed card.html
var cardHTML string

var card = template.Must(template.New("card").Parse(cardHTML))

// HTML returns the page.
func (c Card) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := card.Execute(&b, c)
	return b.Bytes(), err
}
