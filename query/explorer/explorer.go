// Package explorer is the web page that shows the service to people: prices as
// charts and tables, and a stream as it arrives; and the front page, which says
// what the service is. The page is part of the program: go generate bundles its
// modules (web) into one script (bundle). It reads the public API with the
// token of the person who logs in, and has no other access to data: without a
// login it knows nothing.
//
// Views are drawn by Preact and charts by uPlot, which are not part of the
// program. If one of their files is missing, the page says so: without uPlot it
// shows tables; without Preact it opens only after that file is available.
package explorer

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"preismon/query/look"
)

// The paths of the page and its files. They link to each other with relative
// addresses, because a base URL may have a path.
const (
	FrontPath = "/"
	PagePath  = "/explorer/"
)

// The assets: files of Preact and uPlot, under their names in the npm packages.
const (
	ViewScript  = "preact.module.js"
	ChartScript = "uPlot.iife.min.js"
	ChartStyle  = "uPlot.min.css"
)

//go:generate go tool esbuild web/main.jsx --bundle --external:./preact.module.js --jsx-factory=h --jsx-fragment=Fragment --minify --format=esm --target=es2022 --charset=utf8 --log-level=warning --outfile=bundle/main.js

//go:embed web/*.html web/*.css web/*.png bundle/main.js
var embedded embed.FS

// policy lets the page run and load its own files and read from its own server,
// and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Explorer serves the page.
type Explorer struct {
	files  map[string]look.File // by path
	front  map[string]look.File // by language
	assets fs.FS

	mu   sync.Mutex
	read map[string]asset // the assets that were read, by name
}

// asset is a file of a library, compressed once for each content.
type asset struct {
	look.File
	version string
}

// Filter is a filter of results, which the form has a field for.
type Filter struct {
	Name   string            `json:"name"` // in the API
	Type   string            `json:"type"` // string or boolean
	Values []string          `json:"values,omitempty"`
	About  map[string]string `json:"about"` // what it means, by language
}

// New returns the pages of a service that is reached at baseURL and has these
// filters of results. Assets, which may be nil, holds ViewScript, ChartScript
// and ChartStyle; files that are added later are served from then on.
func New(baseURL string, filters []Filter, assets fs.FS) (*Explorer, error) {
	inForm, err := json.Marshal(append([]Filter{}, filters...))
	if err != nil {
		return nil, err
	}
	e := &Explorer{files: map[string]look.File{}, front: map[string]look.File{}, assets: assets, read: map[string]asset{}}
	return e, fs.WalkDir(embedded, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		switch name = entry.Name(); path.Ext(name) {
		case ".html":
			body = bytes.ReplaceAll(body, []byte("{base_url}"), []byte(html.EscapeString(baseURL)))
			body = bytes.ReplaceAll(body, []byte("{filters}"), []byte(html.EscapeString(string(inForm))))
		case ".css":
			body = look.Sheet(body)
		}
		f := look.NewFile(name, body)
		if lang, ok := strings.CutPrefix(name, "front."); ok {
			e.front[strings.TrimSuffix(lang, ".html")] = f
		} else {
			e.files[PagePath+strings.TrimSuffix(name, "index.html")] = f
		}
		return nil
	})
}

// Paths returns all paths that it answers, which must match exactly.
func (e *Explorer) Paths() []string {
	paths := []string{FrontPath, strings.TrimSuffix(PagePath, "/"), PagePath + ViewScript, PagePath + ChartScript, PagePath + ChartStyle}
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
		// Relative, because a proxy may have removed a path.
		w.Header().Set("Location", "explorer/")
		w.WriteHeader(http.StatusMovedPermanently)
	case PagePath + ViewScript, PagePath + ChartScript, PagePath + ChartStyle:
		e.serveAsset(w, r, path.Base(p))
	default:
		f, ok := e.files[p]
		if !ok {
			http.NotFound(w, r)
			return
		}
		f.Serve(w, r, policy)
	}
}

// serveAsset serves a file of a library, if there is one.
func (e *Explorer) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	body, err := e.readAsset(name)
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, name+" is not on this server.", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, name+" cannot be read.", http.StatusInternalServerError)
		return
	}
	e.compressed(name, body).Serve(w, r, policy)
}

// compressed returns the file with a content, compressing it again only when
// the content has changed.
func (e *Explorer) compressed(name string, body []byte) look.File {
	version := look.Version(body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.read[name].version != version {
		e.read[name] = asset{look.NewFile(name, body), version}
	}
	return e.read[name].File
}

func (e *Explorer) readAsset(name string) ([]byte, error) {
	if e.assets == nil {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(e.assets, name)
}
