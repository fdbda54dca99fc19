// Package page renders what a person sees while a program is being connected:
// the login, the question whether it may have access, and the pages for
// problems. The authorization server uses it, and decides which page is due and
// what a submitted form means.
//
// It renders HTML and a style sheet and nothing else: no script, no font, no
// image, in German or English as the browser prefers. Text that strangers
// chose, such as the names and hosts of clients, is made fit for display here,
// whatever the caller has done before.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
)

// Names of the fields in forms, and the values of FieldDecision.
const (
	FieldTransaction = "transaction"
	FieldLogin       = "loginIdentifier"
	FieldPassword    = "password"
	FieldDecision    = "decision"

	Allow         = "allow"
	Deny          = "deny"
	SwitchAccount = "switch"
)

// Form is where a page's form is sent, by POST, and a hidden value that is sent
// with it: the value belongs to the caller and means nothing here.
type Form struct {
	Action      string // a path of this service
	Transaction string
}

// Page is one of Login, Consent and Problem.
type Page interface {
	// view returns what the page's template shows.
	view(texts *texts) (view, error)
}

// view is the data that a template is filled with.
type view struct {
	template string
	title    string
	// formAction is the form-action of the page's policy; empty: none.
	formAction string
	body       any
}

//go:embed templates/*.html
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.html"))

// Render answers a request with a page, including all headers that it needs. If
// it fails, nothing has been written: the page contains something that cannot
// be shown.
func Render(w http.ResponseWriter, r *http.Request, status int, p Page) error {
	texts := textsFor(r)
	v, err := p.view(texts)
	if err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	var b bytes.Buffer
	err = templates.ExecuteTemplate(&b, v.template, map[string]any{"T": texts, "Title": v.title, "Style": styleLink(r.URL.Path), "P": v.body})
	if err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	setHeaders(w.Header(), v.formAction)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", texts.Lang)
	w.Header().Add("Vary", "Accept-Language")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error: the browser has gone
	return nil
}
