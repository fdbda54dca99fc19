package page_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"preismon/deploy/testserver/equals"
	"preismon/query/oauth/page"
)

// fields returns what a page's form would send, without its buttons.
func fields(doc *html.Node) map[string]string {
	sent := map[string]string{}
	for _, in := range all(doc, "input") {
		name, _ := attr(in, "name")
		sent[name], _ = attr(in, "value")
	}
	return sent
}

// decisions returns the values that a page's buttons send, in order.
func decisions(doc *html.Node) (values []string) {
	for _, b := range all(doc, "button") {
		if name, _ := attr(b, "name"); name == page.FieldDecision {
			value, _ := attr(b, "value")
			values = append(values, value)
		}
	}
	return values
}

func TestLogin(t *testing.T) {
	for _, c := range []struct {
		name  string
		login page.Login
		words string // of the alert; empty: none
		focus string
	}{
		{"new", page.Login{Form: form}, "", page.FieldLogin},
		{"wrong", page.Login{Form: form, LoginIdentifier: `a"b<c`, Refused: page.WrongCredentials}, "The login or the password is wrong.", page.FieldPassword},
		{"often", page.Login{Form: form, LoginIdentifier: "a", Refused: page.TooManyAttempts, Wait: 30 * time.Second}, "There were too many attempts. Try again in 30 seconds.", page.FieldPassword},
		{"away", page.Login{Form: form, Refused: page.LoginUnavailable}, "Logging in is not possible at the moment. Try again shortly.", page.FieldLogin},
	} {
		doc := parse(t, render(t, c.login))
		want := map[string]string{page.FieldTransaction: "t-1", page.FieldLogin: c.login.LoginIdentifier, page.FieldPassword: ""}
		equals.Checkf(t, want, fields(doc), "%s", c.name)
		alert := ""
		for _, p := range all(doc, "p") {
			if role, _ := attr(p, "role"); role == "alert" {
				alert = text(p)
			}
		}
		if alert != c.words || strings.HasPrefix(text(all(doc, "title")[0]), "Error: ") != (c.words != "") {
			t.Errorf("%s: %q, title %q", c.name, alert, text(all(doc, "title")[0]))
		}
		complete := map[string]string{page.FieldLogin: "username", page.FieldPassword: "current-password"}
		for _, in := range all(doc, "input") {
			name, _ := attr(in, "name")
			if complete[name] == "" {
				continue
			}
			auto, _ := attr(in, "autocomplete")
			_, focus := attr(in, "autofocus")
			by, described := attr(in, "aria-describedby")
			_, invalid := attr(in, "aria-invalid")
			if auto != complete[name] || focus != (name == c.focus) || described != (c.words != "") || described && by != "message" || invalid != (c.login.Refused == page.WrongCredentials) {
				t.Errorf("%s: %s has %v", c.name, name, in.Attr)
			}
		}
	}
}

func TestWaits(t *testing.T) {
	for _, c := range []struct {
		wait   time.Duration
		en, de string
	}{
		{0, "in 1 second.", "in 1 Sekunde"},
		{time.Millisecond, "in 1 second.", "in 1 Sekunde"},
		{1100 * time.Millisecond, "in 2 seconds.", "in 2 Sekunden"},
		{120 * time.Second, "in 120 seconds.", "in 120 Sekunden"},
		{121 * time.Second, "in 3 minutes.", "in 3 Minuten"},
		{15 * time.Minute, "in 15 minutes.", "in 15 Minuten"},
	} {
		for lang, want := range map[string]string{"en": c.en, "de": c.de} {
			if body := render(t, page.Login{Refused: page.TooManyAttempts, Wait: c.wait}, lang).Body.String(); !strings.Contains(body, want) {
				t.Errorf("%s: no %q in %s", c.wait, want, body)
			}
		}
	}
}

const (
	unverified = "Not verified."
	local      = "Any program that runs here can use this address"
	reads      = "Prices, sites, products, orders and files that your account may see. It cannot change anything."
	stays      = "For up to 30 days, until access is revoked."
)

// The page shows who requests access, where the answer goes, who is logged in,
// and what is granted (line 18 of the OAuth checklist, OAUTH-03c).
func TestConsent(t *testing.T) {
	for _, c := range []struct {
		page  string
		says  []string
		never []string
	}{
		{"consent-document", []string{"Example Assistant", "Described by assistant.example.com", "The answer goes to assistant.example.com", "Logged in as reader@example.com", reads, stays}, []string{unverified, local}},
		{"consent-registered", []string{"Claude Code", unverified, "Anybody could use it.", "The answer goes to 127.0.0.1:53210", "A program on this computer.", local, reads}, []string{"Described by", stays}},
		{"consent-app", []string{"Example App", "Described by app.example.com", "The answer goes to com.example.app", "An app on this device.", local}, []string{unverified, stays}},
	} {
		doc := parse(t, render(t, pages[c.page]))
		read := text(all(doc, "main")[0])
		for _, s := range c.says {
			if !strings.Contains(read, s) {
				t.Errorf("%s: no %q in %q", c.page, s, read)
			}
		}
		for _, s := range c.never {
			if strings.Contains(read, s) {
				t.Errorf("%s: %q in %q", c.page, s, read)
			}
		}
		equals.Check(t, map[string]string{page.FieldTransaction: "t-1"}, fields(doc))
		equals.Check(t, []string{page.SwitchAccount, page.Allow, page.Deny}, decisions(doc))
		for n := range doc.Descendants() { // the Enter key of the login before must not consent
			if _, focus := attr(n, "autofocus"); focus {
				t.Errorf("%s: %s takes the focus", c.page, n.Data)
			}
		}
	}
}
