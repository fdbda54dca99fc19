package chromium_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/testserver/chromium"
	"preismon/deploy/testserver/must"
)

// recorder records the errors of a test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

const head = `<!doctype html><html lang="en"><head><title>a page</title><link rel="icon" href="data:,"></head><body><main><h1>a page</h1>`

// TestRun: the faults of a page are found, and none in a sound page.
func TestRun(t *testing.T) {
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	pages := map[string]string{
		"/sound":   head + `<p>well</p><script>console.log('expected')</script></main>`,
		"/strange": head + `<script src="` + stranger.URL + `/x.js"></script></main>`,
		"/wide":    head + `<div style="width: 900px">wide</div></main>`,
		"/noisy":   head + `<script>console.log('noise')</script></main>`,
		"/throws":  head + `<script>throw new Error('broken')</script></main>`,
		"/blind":   head + `<img src="data:," width="10" height="10"></main>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, pages[r.URL.Path])
	}))
	defer server.Close()
	folder := t.TempDir()
	must.Do(t, flag.Set("screenshots", folder))
	defer flag.Set("screenshots", "") //nolint:errcheck // restores the default
	look := func(paths ...string) (errors []string) {
		r := &recorder{TB: t}
		var said struct{ Paths int }
		chromium.Run(r, "testdata/look.mjs", map[string]any{"base": server.URL, "hosts": []string{server.URL}, "paths": paths}, &said)
		if said.Paths != len(paths) {
			t.Errorf("the script said %+v", said)
		}
		return r.errors
	}
	if found := look("/sound"); len(found) > 0 {
		t.Errorf("a sound page: %q", found)
	}
	if _, err := os.Stat(filepath.Join(folder, "a-page.png")); err != nil {
		t.Error(err)
	}
	found := look("/strange", "/wide", "/noisy", "/throws", "/blind")
	for _, want := range []string{
		"/strange: asked for " + stranger.URL + "/x.js", "/wide: has to be scrolled sideways", "/noisy: console: noise",
		"/throws: script: Error: broken", "/blind: axe image-alt:",
	} {
		n := 0
		for _, f := range found {
			if strings.HasPrefix(f, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d of the failures begin with %q:\n%s", n, want, strings.Join(found, "\n"))
		}
	}
}
