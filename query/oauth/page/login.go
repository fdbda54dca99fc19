package page

import (
	"fmt"
	"time"

	"preismon/contracts/plaintext"
)

// Refusal is the reason why a login failed.
type Refusal string

const (
	NotRefused       Refusal = ""
	WrongCredentials Refusal = "wrong credentials"
	TooManyAttempts  Refusal = "too many attempts" // see Login.Wait
	LoginUnavailable Refusal = "unavailable"
)

// Login asks for login and password. Its policy lets the form go only to this
// service, including redirects of the answer: answer the form with a page or
// with a redirect of this service, never with a redirect to a client.
type Login struct {
	Form
	ClientName string // the client that requests access; empty: not named
	// LoginIdentifier is what was typed before, so that it is typed only once.
	LoginIdentifier string
	Refused         Refusal
	Wait            time.Duration // for TooManyAttempts
}

func (l Login) view(t *texts) (view, error) {
	v := view{template: "login.html", title: t.LoginTitle, formAction: "'self'"}
	message := ""
	switch l.Refused {
	case NotRefused:
	case WrongCredentials:
		message = t.WrongCredentials
	case TooManyAttempts:
		message = fmt.Sprintf(t.TooManyAttempts, t.wait(l.Wait))
	case LoginUnavailable:
		message = t.LoginUnavailable
	default:
		return view{}, fmt.Errorf("no words for the refusal %q", l.Refused)
	}
	if message != "" {
		v.title = t.Error + ": " + v.title
	}
	v.body = struct {
		Form
		Client, Typed, Message string
		Wrong                  bool
	}{l.Form, plaintext.Clean(l.ClientName, maxShown), l.LoginIdentifier, message, l.Refused == WrongCredentials}
	return v, nil
}
