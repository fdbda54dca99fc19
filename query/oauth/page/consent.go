package page

import (
	"errors"
	"fmt"
	"net/url"
	"unicode/utf8"

	"preismon/contracts/plaintext"
)

// maxShown is the maximum length, in runes, of each text from a stranger.
const maxShown = 60

// Consent asks whether a client may have access.
type Consent struct {
	Form
	ClientName string
	// ClientHost is the host that published the client's metadata document.
	// Empty: the client registered itself, and no one vouches for its name.
	ClientHost string
	// RedirectURI is where the answer goes. It must have been validated.
	RedirectURI string
	// Account is the login of the person who is logged in.
	Account string
	// Scopes are what is granted, each "mcp" or "offline_access".
	Scopes []string
}

// redirectKind is the kind of place that an answer goes to.
type redirectKind struct{ Loopback, App bool }

func (c Consent) view(t *texts) (view, error) {
	u, err := url.Parse(c.RedirectURI)
	if err != nil || u.Scheme == "" || u.Host == "" && (u.Scheme == "https" || u.Scheme == "http") {
		return view{}, errors.New("the redirect URI is none")
	}
	kind, target := redirectKind{}, u.Host
	switch u.Scheme {
	case "https":
	case "http":
		kind.Loopback = true
	default:
		kind.App, target = true, u.Scheme
	}
	if len(c.Scopes) == 0 {
		return view{}, errors.New("a consent to nothing")
	}
	var scopes []granted
	for _, name := range c.Scopes {
		g, ok := t.Scopes[name]
		if !ok {
			return view{}, fmt.Errorf("no words for the scope %q", name)
		}
		scopes = append(scopes, g)
	}
	return view{template: "consent.html", title: t.ConsentTitle, formAction: answerPolicy(u), body: struct {
		Form
		redirectKind
		Client, Host, Target, Account string
		Scopes                        []granted
	}{c.Form, kind, plaintext.Clean(c.ClientName, maxShown), host(c.ClientHost), host(target), plaintext.Clean(c.Account, maxShown), scopes}}, nil
}

// host makes a host fit for display. If it is too long, its beginning is cut
// off, because its end shows whose it is.
func host(s string) string {
	s = plaintext.Clean(s, len(s))
	for n := utf8.RuneCountInString(s); n > maxShown; n-- {
		_, size := utf8.DecodeRuneInString(s)
		if s = s[size:]; n == maxShown+1 {
			_, size = utf8.DecodeRuneInString(s)
			s = "…" + s[size:]
		}
	}
	return s
}
