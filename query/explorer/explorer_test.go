package explorer_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/explorer"
)

const base = "https://prices.example.com"

func serve(t *testing.T, assets fstest.MapFS, method, path, language string) *httptest.ResponseRecorder {
	t.Helper()
	e := must.Get(explorer.New(base, nil, assets))(t)
	r := httptest.NewRequest(method, path, nil)
	if language != "" {
		r.Header.Set("Accept-Language", language)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// Every path answers with its media type, under a policy that lets the page run
// only its own files.
func TestPaths(t *testing.T) {
	assets := fstest.MapFS{explorer.ViewScript: {Data: []byte("export {}")}, explorer.ChartScript: {Data: []byte("var uPlot")}, explorer.ChartStyle: {Data: []byte(".u{}")}}
	e := must.Get(explorer.New(base, nil, assets))(t)
	paths := e.Paths()
	for _, p := range []string{"/", "/explorer", "/explorer/", "/explorer/main.js", "/explorer/style.css"} {
		if !slices.Contains(paths, p) {
			t.Errorf("%s is not served", p)
		}
	}
	for _, p := range paths {
		w := serve(t, assets, http.MethodGet, p, "")
		if p == "/explorer" {
			if w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "explorer/" {
				t.Errorf("%s: %d %q", p, w.Code, w.Header())
			}
			continue
		}
		media := "text/html; charset=utf-8"
		if strings.HasSuffix(p, ".js") {
			media = "text/javascript; charset=utf-8"
		} else if strings.HasSuffix(p, ".css") {
			media = "text/css; charset=utf-8"
		} else if strings.HasSuffix(p, ".png") {
			media = "image/png"
		}
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != media || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("ETag") == "" {
			t.Errorf("%s: %d %v", p, w.Code, h)
		}
		want := []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
			"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		}
		equals.Checkf(t, want, strings.Split(h.Get("Content-Security-Policy"), "; "), "%s", p)
		if serve(t, assets, http.MethodPost, p, "").Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s is taken", p)
		}
	}
}

// The files of libraries are served if they are present; without them the rest
// is served.
func TestWithoutAssets(t *testing.T) {
	e := must.Get(explorer.New(base, nil, nil))(t)
	assets := fstest.MapFS{}
	later := must.Get(explorer.New(base, nil, assets))(t)
	status := func(e *explorer.Explorer, path string) int {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	for _, name := range []string{explorer.ViewScript, explorer.ChartScript, explorer.ChartStyle} {
		for _, e := range []*explorer.Explorer{e, later} {
			equals.Is(t, http.StatusNotFound, status(e, explorer.PagePath+name), "%s, which is missing", name)
			equals.Is(t, http.StatusOK, status(e, explorer.PagePath), "the page without %s", name)
		}
		assets[name] = &fstest.MapFile{Data: []byte("x")}
		equals.Is(t, http.StatusOK, status(later, explorer.PagePath+name), "%s, which came later", name)
	}
}

func TestFrontPage(t *testing.T) {
	for _, c := range []struct{ header, lang string }{
		{"", "en"}, {"de", "de"}, {"de-AT,en;q=0.5", "de"}, {"fr,en", "en"}, {"fr", "en"}, {"!", "en"}, {strings.Repeat("de,", 999), "en"},
	} {
		w := serve(t, nil, http.MethodGet, "/", c.header)
		body := w.Body.String()
		if !strings.Contains(body, `<html lang="`+c.lang+`">`) || w.Header().Get("Vary") != "Accept-Language" {
			t.Errorf("%.20q: not in %s, %v", c.header, c.lang, w.Header())
		}
		for _, picture := range []string{"explorer/picture-light.png", "explorer/picture-dark.png"} {
			if !strings.Contains(body, `"`+picture+`"`) || !strings.HasPrefix(serve(t, nil, http.MethodGet, "/"+picture, "").Body.String(), "\x89PNG") {
				t.Errorf("%s: no picture %s", c.lang, picture)
			}
		}
		for _, to := range []string{`href="explorer/"`, `href="docs"`, `href="llms-full.txt"`, `href="llms.txt"`, `href="openapi/openapi.yaml"`, base + "/mcp<"} {
			if !strings.Contains(body, to) {
				t.Errorf("%s: no %s", c.lang, to)
			}
		}
	}
}

// The page has nothing that the policy would block, and requests nothing from
// another host.
func TestNothingInline(t *testing.T) {
	bad := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(>|[^>]*>[^<])|(src|href)="(https?:)?//`)
	for _, p := range []string{"/", explorer.PagePath} {
		for _, lang := range []string{"en", "de"} {
			if found := bad.FindString(serve(t, nil, http.MethodGet, p, lang).Body.String()); found != "" {
				t.Errorf("%s has %q", p, found)
			}
		}
	}
}

// Both languages have the same texts, and all that the page uses.
func TestTexts(t *testing.T) {
	text := must.Get(os.ReadFile("web/texts.js"))(t)
	parts := strings.SplitN(string(text), "const de = {", 2)
	en, _, _ := strings.Cut(parts[0], "\n};")
	de, _, _ := strings.Cut(parts[1], "\n};")
	key := regexp.MustCompile(`(?m)(?:^  |', |` + "`, " + `)([a-zA-Z]+): (?:'|` + "`" + `|\()`)
	keys := func(s string) (all []string) {
		for _, m := range key.FindAllStringSubmatch(s, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return all
	}
	equals.Checkf(t, keys(en), keys(de), "en and de")
	page := must.Get(os.ReadFile("web/index.html"))(t)
	asked := regexp.MustCompile(`data-(?:text|label|placeholder)="(\w+)"`).FindAllSubmatch(page, -1)
	for _, m := range asked {
		if !slices.Contains(keys(en), string(m[1])) {
			t.Errorf("no words for %s", m[1])
		}
	}
	if len(asked) < 30 || len(keys(en)) < 80 {
		t.Errorf("%d words asked for, %d there", len(asked), len(keys(en)))
	}
}

// The form has the filters that the service has.
func TestFilters(t *testing.T) {
	e := must.Get(explorer.New(base, []explorer.Filter{{Name: "isNew", Type: "boolean", About: map[string]string{"en": `It's "new"`, "de": "Neu"}}}, nil))(t)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, explorer.PagePath, nil))
	found := regexp.MustCompile(`data-filters="([^"]*)"`).FindStringSubmatch(w.Body.String())
	if found == nil {
		t.Fatal("no filters in the form")
	}
	const want = `[{"name":"isNew","type":"boolean","about":{"de":"Neu","en":"It's \"new\""}}]`
	if got := html.UnescapeString(found[1]); got != want {
		t.Error(got)
	}
	if body := serve(t, nil, http.MethodGet, explorer.PagePath, "").Body.String(); !strings.Contains(body, `data-filters="[]"`) {
		t.Error("a service without filters has an empty list")
	}
}

// The modules that need no page run in Node.
func TestModules(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "node", "--no-warnings", "testdata/modules.mjs").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// mostScript is the number of bytes of script that the explorer may send,
// compressed.
const mostScript = 75_000

// All scripts together, as they are sent, with the pinned libraries, whose
// sizes are known (TestUpDemo measures what the browser gets).
func TestBudget(t *testing.T) {
	assets := fstest.MapFS{explorer.ViewScript: {Data: []byte("export {}")}, explorer.ChartScript: {Data: []byte("var uPlot")}}
	e := must.Get(explorer.New(base, nil, assets))(t)
	const libraries = 4_900 + 22_200 // preact.module.js of 10.29.8 and uPlot.iife.min.js of 1.6.32 by gzip
	sent := libraries
	for _, p := range e.Paths() {
		if !strings.HasSuffix(p, ".js") {
			continue
		}
		r := httptest.NewRequest(http.MethodGet, p, nil)
		r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if _, library := assets[path.Base(p)]; !library && w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed: %v", p, w.Header())
		}
		sent += w.Body.Len()
	}
	t.Logf("scripts: %d bytes compressed", sent)
	if sent > mostScript {
		t.Errorf("scripts have %d bytes compressed, at most %d are wanted", sent, mostScript)
	}
}
