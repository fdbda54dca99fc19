// Package explorer is the web page that shows the service to people: prices
// as charts and tables, and a stream as it arrives; and the front page, which
// says what the service is. The page is plain files that go with the program.
// It reads the public API with the token of whoever logs in to it, and has no
// way to data of its own: without a login it knows nothing.
//
// Charts are drawn by uPlot, which is not part of the program. Where its files
// are missing the page says so and shows tables.
package explorer

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"preismon/query/look"
)

// Where the page and its files are served. Their addresses are relative to
// each other: a base URL may have a path.
const (
	FrontPath = "/"
	PagePath  = "/explorer/"
)

// The files of uPlot, by the names that they have in its npm package.
const (
	ChartScript = "uPlot.iife.min.js"
	ChartStyle  = "uPlot.min.css"
)

//go:embed web
var embedded embed.FS

// policy lets the page run and load its own files and read its own server,
// and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// unsaid is what browsers do not need of a script: lines of comment, and
// indentation. No text of a script goes over several lines (TestModules).
var unsaid = regexp.MustCompile(`(?m)^[ \t]*(?://.*|/\*\*(?s:.*?)\*/)\n|^[ \t]+`)

// Explorer serves the page.
type Explorer struct {
	files map[string]look.File // by path
	front map[string]look.File // by language
	chart fs.FS

	mu     sync.Mutex
	charts map[string]chartFile // those of chart that were read, by name
}

// chartFile is a file of uPlot, compressed once for its content.
type chartFile struct {
	look.File
	version string
}

// New makes the pages of a service that is reached at baseURL. Charts, which
// may be nil, has ChartScript and ChartStyle; files that come later are served
// from then on.
func New(baseURL string, charts fs.FS) (*Explorer, error) {
	e := &Explorer{files: map[string]look.File{}, front: map[string]look.File{}, chart: charts, charts: map[string]chartFile{}}
	entries, err := fs.ReadDir(embedded, "web")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		body, err := fs.ReadFile(embedded, "web/"+entry.Name())
		if err != nil {
			return nil, err
		}
		if entry.Name() == "index.html" {
			body = bytes.ReplaceAll(body, []byte("{modules}\n"), preloads(entries))
		}
		if path.Ext(entry.Name()) == ".html" {
			body = bytes.ReplaceAll(body, []byte("{base_url}"), []byte(html.EscapeString(baseURL)))
		}
		if entry.Name() == "style.css" {
			body = look.Sheet(body)
		}
		if path.Ext(entry.Name()) == ".js" {
			body = unsaid.ReplaceAll(body, nil)
		}
		f := look.NewFile(entry.Name(), body)
		if lang, ok := strings.CutPrefix(entry.Name(), "front."); ok {
			e.front[strings.TrimSuffix(lang, ".html")] = f
			continue
		}
		e.files[PagePath+strings.TrimSuffix(entry.Name(), "index.html")] = f
	}
	return e, nil
}

// preloads are links that have a browser fetch all modules at once: without
// them it knows of one by another that imports it.
func preloads(entries []fs.DirEntry) []byte {
	var links bytes.Buffer
	for _, entry := range entries {
		if name := entry.Name(); path.Ext(name) == ".js" && name != "main.js" {
			fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"%s\">\n", name)
		}
	}
	return links.Bytes()
}

// Paths are all that it answers, exactly.
func (e *Explorer) Paths() []string {
	paths := []string{FrontPath, strings.TrimSuffix(PagePath, "/"), PagePath + ChartScript, PagePath + ChartStyle}
	for p := range e.files {
		paths = append(paths, p)
	}
	return paths
}

// ServeHTTP implements http.Handler, for Paths.
func (e *Explorer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This page takes GET only.", http.StatusMethodNotAllowed)
		return
	}
	switch p := r.URL.Path; p {
	case FrontPath:
		w.Header().Add("Vary", "Accept-Language")
		e.front[look.SpokenBy(r)].Serve(w, r, policy)
	case strings.TrimSuffix(PagePath, "/"):
		// Relative: a proxy may have taken a path away.
		w.Header().Set("Location", "explorer/")
		w.WriteHeader(http.StatusMovedPermanently)
	case PagePath + ChartScript, PagePath + ChartStyle:
		e.serveChart(w, r, path.Base(p))
	default:
		f, ok := e.files[p]
		if !ok {
			http.NotFound(w, r)
			return
		}
		f.Serve(w, r, policy)
	}
}

// serveChart serves a file of uPlot, if there is one.
func (e *Explorer) serveChart(w http.ResponseWriter, r *http.Request, name string) {
	body, err := e.readChart(name)
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, "The files of uPlot are not on this server.", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, "The files of uPlot cannot be read.", http.StatusInternalServerError)
		return
	}
	e.compressed(name, body).Serve(w, r, policy)
}

// compressed is the file with a content, made when another was there before.
func (e *Explorer) compressed(name string, body []byte) look.File {
	version := look.Version(body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.charts[name].version != version {
		e.charts[name] = chartFile{look.NewFile(name, body), version}
	}
	return e.charts[name].File
}

func (e *Explorer) readChart(name string) ([]byte, error) {
	if e.chart == nil {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(e.chart, name)
}
