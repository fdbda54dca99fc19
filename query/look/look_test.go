package look_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query/look"
)

func get(f look.File, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header = header
	w := httptest.NewRecorder()
	f.Serve(w, r, "default-src 'none'")
	return w
}

// A client that accepts gzip gets it, with the same content; a cache does not
// confuse the two.
func TestCompressed(t *testing.T) {
	body := strings.Repeat("let price = 1;\n", 100)
	f := look.NewFile("a.js", []byte(body))
	plain := get(f, http.Header{})
	if plain.Body.String() != body || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("as it is: %v %.60q", plain.Header(), plain.Body)
	}
	for header, want := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "deflate, gzip;q=1.0": true, "*": true,
		"gzip;q=0": false, "gzip; q=0.000": false, "br": false, "": false,
	} {
		w := get(f, http.Header{"Accept-Encoding": {header}})
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: compressed is %t", header, got)
			continue
		}
		if !want {
			continue
		}
		z := must.Get(gzip.NewReader(w.Body))(t)
		if got, err := io.ReadAll(z); err != nil || string(got) != body {
			t.Errorf("%q: %.60q %v", header, got, err)
		}
		if tag := w.Header().Get("ETag"); tag == plain.Header().Get("ETag") {
			t.Errorf("both forms have the ETag %s", tag)
		}
		again := get(f, http.Header{"Accept-Encoding": {header}, "If-None-Match": {w.Header().Get("ETag")}})
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%q: asked again: %d", header, again.Code)
		}
	}
	if w := get(look.NewFile("a.css", []byte("a{}")), http.Header{"Accept-Encoding": {"gzip"}}); w.Header().Get("Content-Encoding") != "" || w.Body.String() != "a{}" {
		t.Errorf("what gzip makes larger: %v %q", w.Header(), w.Body)
	}
}
