package docs_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/must"
	"preismon/query/docs"
)

const base = "https://prices.example.com/below"

func get(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	return serve(t, httptest.NewRequest(method, path, nil))
}

// spoken returns the page for a browser that prefers a language.
func spoken(t *testing.T, language string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/docs", nil)
	r.Header.Set("Accept-Language", language)
	return serve(t, r)
}

// pages writes each page once.
var pages = sync.OnceValues(func() (*docs.Docs, error) { return docs.New(base, alerts) })

func serve(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	d := must.Get(pages())(t)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// Every path answers with its media type, under a policy without inline script
// or style.
func TestPaths(t *testing.T) {
	d := must.Get(pages())(t)
	media := map[string]string{"/docs": "text/html; charset=utf-8", "/docs/": "", "/docs/style.css": "text/css; charset=utf-8", "/docs/page.js": "text/javascript; charset=utf-8", "/docs/runbook": "text/html; charset=utf-8"}
	if len(d.Paths()) != len(media) {
		t.Errorf("paths %v", d.Paths())
	}
	for _, p := range d.Paths() {
		w := get(t, http.MethodGet, p)
		if p == "/docs/" {
			if w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "../docs" {
				t.Errorf("%s: %d %v", p, w.Code, w.Header())
			}
		} else if h := w.Header(); w.Code != http.StatusOK || h.Get("Content-Type") != media[p] || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("ETag") == "" {
			t.Errorf("%s: %d %v", p, w.Code, h)
		} else if diff := cmp.Diff([]string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		}, strings.Split(h.Get("Content-Security-Policy"), "; ")); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
		if w := get(t, http.MethodPost, p); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
			t.Errorf("POST %s: %d", p, w.Code)
		}
	}
	if w := get(t, http.MethodGet, "/docs/other"); w.Code != http.StatusNotFound {
		t.Errorf("another path: %d", w.Code)
	}
}

// The page is in the language of the browser.
func TestLanguages(t *testing.T) {
	for header, want := range map[string][]string{
		"":      {`<html lang="en">`, `<main id="reference" lang="en">`, ">Contents<", ">Search the reference<", ">Copy<"},
		"de-AT": {`<html lang="de">`, `<main id="reference" lang="de">`, ">Inhalt<", ">In der Referenz suchen<", ">Kopieren<", ">Die sichtbaren Sites auflisten<", ">Zeichenkette oder null<", "Was Produkte kosten"},
	} {
		w := spoken(t, header)
		if !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Accept-Language") {
			t.Errorf("%q: Vary %q", header, w.Header().Values("Vary"))
		}
		for _, text := range want {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%q: no %s", header, text)
			}
		}
	}
}

// document returns the page as a tree, its ids, and its links.
func document(t *testing.T) (doc *html.Node, ids map[string]*html.Node, links []string) {
	t.Helper()
	doc = must.Get(html.Parse(get(t, http.MethodGet, "/docs").Body))(t)
	ids = map[string]*html.Node{}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id" && ids[a.Val] != nil:
				t.Errorf("two elements are %s", a.Val)
			case a.Key == "id":
				ids[a.Val] = n
			case a.Key == "href" && n.Data == "a":
				links = append(links, a.Val)
			}
		}
	}
	return doc, ids, links
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// Everything in the contract is on the page, at its address. The test reads the
// contract with another library than the one that the page is built with.
func TestComplete(t *testing.T) {
	_, ids, links := document(t)
	contract := openapitest.Document()
	said := func(id string, wants ...string) {
		t.Helper()
		if ids[id] == nil {
			t.Errorf("no %s", id)
			return
		}
		for _, want := range wants {
			if !strings.Contains(text(ids[id]), want) {
				t.Errorf("%s does not say %s", id, want)
			}
		}
	}
	operations := 0
	for path, item := range contract.Paths.Map() {
		for method, op := range item.Operations() {
			operations++
			wants := []string{op.Summary, method, path, "curl ", "'" + base + "/"}
			for _, p := range op.Parameters {
				wants = append(wants, p.Value.Name)
			}
			for status, r := range op.Responses.Map() {
				wants = append(wants, status)
				for media, content := range r.Value.Content {
					if media != "application/problem+json" {
						wants = append(wants, media)
						continue
					}
					for _, code := range content.Schema.Value.AllOf[1].Value.Properties["code"].Value.Enum {
						wants = append(wants, code.(string))
					}
				}
			}
			said(op.OperationID, wants...)
		}
	}
	records := 0
	for name, s := range contract.Components.Schemas {
		for field := range s.Value.Properties {
			records++
			said("schema-"+name, field)
		}
	}
	for name := range contract.Components.Headers {
		said("header-" + name)
	}
	codes := contract.Components.Schemas["ErrorCode"].Value.Enum
	if operations < 25 || records < 100 || len(codes) < 20 {
		t.Errorf("%d operations, %d fields, %d codes", operations, records, len(codes))
	}
	problems := map[string]bool{}
	for _, to := range links {
		if id, ok := strings.CutPrefix(to, "#"); ok && ids[id] == nil {
			t.Errorf("a link to %s, which is not there", to)
		}
		if strings.HasPrefix(to, "problems/") {
			problems[to] = true
		}
	}
	if len(problems) != len(codes) || !problems["problems/mvp-validation-error"] {
		t.Errorf("%d codes, links to %d pages", len(codes), len(problems))
	}
}

// The page has nothing that the policy would block, requests nothing from
// another host, and has no placeholder left.
func TestNothingInline(t *testing.T) {
	for language, most := range map[string]int{"en": 61_000, "de": 67_000} {
		body := spoken(t, language).Body.String()
		if found := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(>|[^>]*>[^<])|(src|href)="(https?:)?/`).FindString(body); found != "" {
			t.Errorf("%s: the page has %q", language, found)
		}
		for _, left := range []string{"{base_url}", "{{", "ZgotmplZ", "&lt;code"} {
			if strings.Contains(body, left) {
				t.Errorf("%s: the page has %q", language, left)
			}
		}
		var packed bytes.Buffer
		z := must.Get(gzip.NewWriterLevel(&packed, 4))(t) // as query/rest compresses
		_, _ = z.Write([]byte(body))
		_ = z.Close()
		t.Logf("%s: %d bytes, %d packed", language, len(body), packed.Len())
		if packed.Len() > most {
			t.Errorf("%s: %d bytes packed", language, packed.Len())
		}
	}
}

// Codes, records and operations are links where a text names them, and tables
// are tables.
func TestLinkedTexts(t *testing.T) {
	doc, _, _ := document(t)
	var b strings.Builder
	must.Do(t, html.Render(&b, doc))
	for _, want := range []string{
		`<a href="#createToken"><code>POST /v1/auth/token</code></a>`,
		`<a href="#listResults"><code>GET /v1/results?limit=10</code></a>`,
		`<a href="#schema-ResultPage"><code>ResultPage</code></a>`,
		`<a href="problems/mvp-validation-error"><code>400 MVP_VALIDATION_ERROR</code></a>`,
		`<a href="problems/results-scope-too-broad"><code>RESULTS_SCOPE_TOO_BROAD</code></a>`,
		`<th>fires when</th>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	for b.Loop() {
		d := must.Get(docs.New(base, alerts))(b)
		d.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/docs", nil))
	}
}
