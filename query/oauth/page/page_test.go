package page_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"preismon/deploy/testserver/equals"
	"preismon/query/oauth/page"
)

// Each page has what a screen reader needs, a form goes only where the caller
// says, and nothing is run or fetched but our style sheet.
func TestMarkup(t *testing.T) {
	for name, p := range pages {
		for _, lang := range []string{"en", "de"} {
			w := render(t, p, lang)
			doc := parse(t, w)
			where := name + " " + lang
			if root := all(doc, "html")[0]; root.Attr[0].Key != "lang" || root.Attr[0].Val != lang || w.Header().Get("Content-Language") != lang {
				t.Errorf("%s: lang %v, header %s", where, root.Attr, w.Header().Get("Content-Language"))
			}
			for element, n := range map[string]int{"main": 1, "header": 1, "h1": 1, "title": 1, "script": 0, "style": 0, "img": 0, "iframe": 0, "a": 0, "base": 0} {
				equals.Is(t, n, len(all(doc, element)), "%s of %s", where, element)
			}
			if links := all(doc, "link"); len(links) != 1 || !strings.HasPrefix(links[0].Attr[1].Val, ".."+page.StylePath+"?v=") {
				t.Errorf("%s: %d links", where, len(links))
			}
			ids := map[string]bool{}
			for n := range doc.Descendants() {
				for _, a := range n.Attr {
					if a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "src" {
						t.Errorf("%s: %s=%q", where, a.Key, a.Val)
					}
					if a.Key == "id" {
						if ids[a.Val] {
							t.Errorf("%s: id %s twice", where, a.Val)
						}
						ids[a.Val] = true
					}
				}
			}
			for _, f := range all(doc, "form") {
				method, _ := attr(f, "method")
				action, _ := attr(f, "action")
				if method != "post" || action != form.Action {
					t.Errorf("%s: %s to %s", where, method, action)
				}
			}
			for _, label := range all(doc, "label") {
				if of, _ := attr(label, "for"); !ids[of] {
					t.Errorf("%s: a label of nothing: %s", where, of)
				}
			}
			if strings.Contains(w.Body.String(), "%!") || strings.Contains(text(doc), "%") {
				t.Errorf("%s: a format that was not filled: %s", where, text(doc))
			}
		}
	}
}

// A page that cannot show something in full is not shown at all.
func TestUnsayable(t *testing.T) {
	good := page.Consent{Form: form, ClientName: "x", RedirectURI: "https://app.example.com/cb", Account: "a", Scopes: []string{"mcp"}}
	with := func(change func(*page.Consent)) page.Page {
		p := good
		change(&p)
		return p
	}
	for name, p := range map[string]page.Page{
		"unknown scope":   with(func(c *page.Consent) { c.Scopes = []string{"mcp", "admin"} }),
		"no scope":        with(func(c *page.Consent) { c.Scopes = nil }),
		"no redirect":     with(func(c *page.Consent) { c.RedirectURI = "" }),
		"relative":        with(func(c *page.Consent) { c.RedirectURI = "/cb" }),
		"no host":         with(func(c *page.Consent) { c.RedirectURI = "https:///cb" }),
		"no URI":          with(func(c *page.Consent) { c.RedirectURI = "https://a b/" }),
		"unknown refusal": page.Login{Refused: "x"},
		"unknown reason":  page.Problem{},
	} {
		w := httptest.NewRecorder()
		err := page.Render(w, httptest.NewRequest("GET", "/", nil), 200, p)
		if err == nil || w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("%s: %v, %s", name, err, w.Body)
		}
	}
}

func TestProblems(t *testing.T) {
	titles := map[string]bool{}
	for _, reason := range []page.Reason{page.Expired, page.UnknownClient, page.BadRedirect, page.BadRequest, page.ClientUnreachable, page.OtherBrowser, page.TooManyRequests, page.Unavailable, page.Internal} {
		for _, lang := range []string{"en", "de"} {
			w := render(t, page.Problem{Reason: reason}, lang)
			doc := parse(t, w)
			title, paragraphs := text(all(doc, "h1")[0]), all(all(doc, "main")[0], "p")
			if titles[title] || len(paragraphs) != 2 || len(text(paragraphs[0])) < 20 || len(text(paragraphs[1])) < 20 {
				t.Errorf("%s %s: %s", reason, lang, text(doc))
			}
			titles[title] = true
			if len(all(doc, "dl"))+len(all(doc, "form")) > 0 {
				t.Errorf("%s: details or a form of nothing", reason)
			}
		}
	}
	read := text(parse(t, render(t, page.Problem{Reason: page.BadRedirect, Code: "invalid_request", Detail: "redirect_uri is <b>another</b>.", RequestID: "r-1"})))
	for _, s := range []string{"Technical details", "invalid_request", "redirect_uri is <b>another</b>.", "r-1"} {
		if !strings.Contains(read, s) {
			t.Errorf("no %q in %q", s, read)
		}
	}
	if read := text(parse(t, render(t, page.Problem{Reason: page.TooManyRequests, Wait: 200 * time.Second}, "de"))); !strings.Contains(read, "Versuchen Sie es in 4 Minuten erneut.") {
		t.Error(read)
	}
	if read := text(parse(t, render(t, page.Problem{Reason: page.Expired}))); !strings.Contains(read, "10 minutes") || !strings.Contains(read, "Go back to the program and start the connection again.") {
		t.Error(read)
	}
}

// Texts from strangers are shown as text, on one line, and cannot leave their
// place.
func TestStrangersAreText(t *testing.T) {
	evil := "<script>alert(1)</script>\"' onclick=x \u202e\u200b\U000E0041\x00\xff{{.}}"
	for name, p := range map[string]page.Page{
		"login":   page.Login{Form: form, ClientName: evil, LoginIdentifier: evil},
		"consent": page.Consent{Form: form, ClientName: evil, ClientHost: evil, Account: evil, RedirectURI: "https://app.example.com/" + url.PathEscape(evil), Scopes: []string{"mcp"}},
		"problem": page.Problem{Reason: page.BadRequest, Code: evil, Detail: evil, RequestID: evil},
		"form":    page.Login{Form: page.Form{Action: "/x?" + `"><script>`, Transaction: evil}},
	} {
		w := render(t, p)
		doc := parse(t, w)
		if len(all(doc, "script")) > 0 || len(all(doc, "b")) != 1 || strings.Contains(w.Body.String(), "<script") { // the wordmark has a b
			t.Errorf("%s: %s", name, w.Body)
		}
		if name != "form" && name != "login" && strings.ContainsFunc(text(doc), func(r rune) bool { return r == 0x202e || r == 0x200b || r >= 0xe0000 || r == 0 || r == utf8.RuneError }) {
			t.Errorf("%s: %q", name, text(doc))
		}
	}
	if read := text(parse(t, render(t, page.Login{Form: form, ClientName: evil}))); strings.ContainsAny(read, "\u202e\u200b") || !strings.Contains(read, "<script>alert(1)</script>") {
		t.Errorf("%q", read)
	}
}

// Names are cut at their end, hosts at their front: the end of a host shows
// whose it is.
func TestLongTexts(t *testing.T) {
	doc := parse(t, render(t, page.Consent{
		Form: form, ClientName: strings.Repeat("n", 61), ClientHost: strings.Repeat("h", 80) + ".example.com", Account: strings.Repeat("a", 61),
		RedirectURI: "https://" + strings.Repeat("r", 61) + ".example.org/", Scopes: []string{"mcp"},
	}))
	var got []string
	for _, b := range all(doc, "bdi") {
		got = append(got, text(b))
	}
	want := []string{strings.Repeat("n", 59) + "…", "…" + strings.Repeat("h", 47) + ".example.com", "…" + strings.Repeat("r", 47) + ".example.org", strings.Repeat("a", 59) + "…"}
	equals.Check(t, want, got)
	exact := strings.Repeat("h", 48) + ".example.com"
	if read := text(parse(t, render(t, page.Consent{Form: form, ClientName: "x", ClientHost: exact, RedirectURI: "https://a.example/", Scopes: []string{"mcp"}}))); !strings.Contains(read, exact) {
		t.Error(read)
	}
}
