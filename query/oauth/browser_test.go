package oauth_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// reply is an answer with its whole body.
type reply struct {
	*http.Response
	body string
}

func (r reply) json(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(r.body), &m); err != nil {
		t.Fatalf("%d %q: %v", r.StatusCode, r.body, err)
	}
	return m
}

var (
	hiddenForm = regexp.MustCompile(`name="transaction" value="([^"]*)"`)
	actionForm = regexp.MustCompile(`action="([^"]*)"`)
)

func first(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// page returns the kind of the page, or the path that a redirect leads to.
func (r reply) page() string {
	if l := r.Header.Get("Location"); l != "" {
		return "-> " + l
	}
	for _, kind := range [][2]string{
		{`name="password"`, "login"}, {`value="allow"`, "consent"}, {"This page has expired", "expired"}, {"another window", "other browser"}, {"<main>", "problem"},
	} {
		if strings.Contains(r.body, kind[0]) {
			return kind[1]
		}
	}
	return "none"
}

func (r reply) wantPage(t testing.TB, status int, kind string) reply {
	t.Helper()
	if r.StatusCode != status || r.page() != kind {
		t.Fatalf("%d %s: %s; want %d %s", r.StatusCode, r.page(), r.body, status, kind)
	}
	return r
}

// redirect returns the parameters that the client receives at uri.
func (r reply) redirect(t testing.TB, uri string) url.Values {
	t.Helper()
	at, query, _ := strings.Cut(r.Header.Get("Location"), "?")
	if r.StatusCode != http.StatusSeeOther || at != uri {
		t.Fatalf("%d to %q: %s; want 303 to %s", r.StatusCode, at, r.body, uri)
	}
	v := must.Get(url.ParseQuery(query))(t)
	return v
}

func (r reply) wantError(t testing.TB, status int, code string) {
	t.Helper()
	if got := r.json(t)["error"]; r.StatusCode != status || got != code {
		t.Errorf("%d %s; want %d %s", r.StatusCode, r.body, status, code)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control: %q", r.Header.Get("Cache-Control"))
	}
}

// browser keeps cookies and follows no redirect.
type browser struct {
	w *world
	c *http.Client
}

func (w *world) browser() *browser {
	jar := must.Get(cookiejar.New(nil))(w.t)
	return &browser{w: w, c: &http.Client{
		Jar: jar, Transport: w.Client().Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (b *browser) do(r *http.Request) reply {
	b.w.t.Helper()
	resp := must.Get(b.c.Do(r))(b.w.t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(b.w.t)
	return reply{resp, string(body)}
}

func (b *browser) get(path string) reply {
	b.w.t.Helper()
	r := must.Get(http.NewRequest("GET", b.w.URL+path, nil))(b.w.t)
	return b.do(r)
}

// submit posts the form of a page, as its browser would.
func (b *browser) submit(page reply, fields url.Values, change ...func(*http.Request)) reply {
	b.w.t.Helper()
	v := url.Values{"transaction": {first(hiddenForm, page.body)}}
	for name, values := range fields {
		v[name] = values
	}
	action := first(actionForm, page.body)
	r := must.Get(http.NewRequest("POST", b.w.URL+action, strings.NewReader(v.Encode())))(b.w.t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, f := range change {
		f(r)
	}
	return b.do(r)
}

func (b *browser) login(page reply, login string) reply {
	b.w.t.Helper()
	return b.submit(page, url.Values{"loginIdentifier": {login}, "password": {password}})
}

func (b *browser) decide(page reply, decision string) reply {
	b.w.t.Helper()
	return b.submit(page, url.Values{"decision": {decision}})
}
