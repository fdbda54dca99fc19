package page

import (
	"fmt"
	"time"

	"preismon/contracts/plaintext"
)

// Refusal says why a login did not work.
type Refusal string

const (
	NotRefused       Refusal = ""
	WrongCredentials Refusal = "wrong credentials"
	TooManyAttempts  Refusal = "too many attempts" // see Login.Wait
	LoginUnavailable Refusal = "unavailable"
)

// Login asks for login and password. Its policy lets the form go to this
// service only, redirects of the answer included: answer it by a page or a
// redirect of this service, never by one to a client.
type Login struct {
	Form
	ClientName string // who asks; empty: not said
	// LoginIdentifier is what was typed before, to be typed once.
	LoginIdentifier string
	Refused         Refusal
	Wait            time.Duration // of TooManyAttempts
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
