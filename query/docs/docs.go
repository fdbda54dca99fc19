// Package docs is the reference of the REST API as a page for people: every
// operation with its parameters, answers, errors and a curl command, and every
// record with its fields. It is generated from contracts/openapi when it is
// first requested, and needs nothing else: no network, no login, no script. A
// script adds a search over the texts, a mark on the current section, and
// buttons that copy. Everything is in the language of the browser; german/
// holds the German texts of the contract.
//
// Each operation has the address /docs#<operationId>, each record
// /docs#schema-<name>. The runbook is served alongside, with
// /docs/runbook#<alert>.
package docs

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"sync"

	"preismon/contracts/openapi"
	"preismon/query/look"
)

// Path is where the page is served; its own files are below it.
const Path = "/docs"

const (
	stylePath  = Path + "/style.css"
	scriptPath = Path + "/page.js"

	runbookPath = Path + "/runbook"
)

var (
	//go:embed web/page.html
	page string
	//go:embed web/style.css
	style []byte
	//go:embed web/page.js
	script []byte
)

// policy lets the page load its own style and script, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Docs serves the page.
type Docs struct {
	files map[string]look.File                 // by path
	pages map[string]func() (look.File, error) // by language; rendered when first requested
}

// New returns the pages of a service that is reached at baseURL. The runbook is
// Markdown, with a heading for each alert.
func New(baseURL, runbook string) (*Docs, error) {
	about, err := runbookPage(runbook)
	if err != nil {
		return nil, err
	}
	d := &Docs{map[string]look.File{
		stylePath:   look.NewFile("style.css", look.Sheet(style)),
		scriptPath:  look.NewFile("page.js", script),
		runbookPath: about,
	}, map[string]func() (look.File, error){}}
	for _, lang := range look.Languages {
		d.pages[lang] = sync.OnceValues(func() (look.File, error) { return written(baseURL, lang) })
	}
	return d, nil
}

// written renders the page in a language from the contract.
func written(baseURL, lang string) (none look.File, err error) {
	outline, err := openapi.Outlined()
	if err != nil {
		return none, err
	}
	spoken, err := byLanguage()
	if err != nil {
		return none, err
	}
	return render(outline, newWords(outline, baseURL, spoken[lang]), lang)
}

// render renders the page in a language, which must also be that of words.
func render(outline *openapi.Outline, words words, lang string) (look.File, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"markdown": words.markdown, "kind": words.kind, "code": words.code, "based": words.based, "curl": words.curl, "problem": problemPath, "good": good,
		"failures": failures, "lang": func() string { return lang }, "say": func(key string) (string, error) { return said(lang, key) },
		"text":   words.text,
		"sample": func(id, title, text string) sample { return sample{id, title, text} }, "token": words.token,
	}).Parse(page)
	if err != nil {
		return look.File{}, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, outline); err != nil {
		return look.File{}, err
	}
	return look.NewFile("page.html", b.Bytes()), nil
}

// sample is a text for people to copy.
type sample struct{ ID, Title, Text string }

// Paths returns all paths that it answers, which must match exactly.
func (*Docs) Paths() []string { return []string{Path, Path + "/", stylePath, scriptPath, runbookPath} }

// ServeHTTP implements http.Handler, for Paths.
func (d *Docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This page takes GET only.", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path == Path+"/" {
		// Relative, because a proxy may have removed a path.
		w.Header().Set("Location", "../docs")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	if r.URL.Path == Path {
		w.Header().Add("Vary", "Accept-Language")
		page, err := d.pages[look.SpokenBy(r)]()
		if err != nil {
			http.Error(w, "The page cannot be made: "+err.Error(), http.StatusInternalServerError)
			return
		}
		page.Serve(w, r, policy)
		return
	}
	f, ok := d.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	f.Serve(w, r, policy)
}
