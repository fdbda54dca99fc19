package page

import (
	"fmt"
	"time"
)

// texts are all words of the pages in one language.
type texts struct {
	Lang string // of the attribute lang and of Content-Language

	LoginTitle, LoginLead  string
	Login, Password        string
	SignIn                 string
	Error                  string // in front of the title of a page with an error
	WrongCredentials       string
	TooManyAttempts        string // takes a time
	LoginUnavailable       string
	ConsentTitle           string
	ConsentLead            string
	Program                string
	NameVouched            string // in front of a host
	NameUnverified         string
	NameUnverifiedExplains string
	AnswerGoesTo           string
	LoopbackWarning        string
	AppWarning             string
	LocalExplains          string
	Account                string
	Switch                 string
	Granted                string
	Scopes                 map[string]granted
	Allow, Deny            string
	TechnicalDetails       string
	Code, Detail, Request  string
	TryAgainIn             string // takes a time
	Problems               map[Reason]problem

	second, seconds, minute, minutes string
}

// granted says what a scope allows: what it is, and what that means.
type granted struct{ Title, Explains string }

// problem says what is wrong and what to do.
type problem struct{ Title, What, Do string }

// wait puts a time into words: seconds up to two minutes, else minutes, never
// less than it is.
func (t *texts) wait(d time.Duration) string {
	n, one, many := int64((d+time.Second-1)/time.Second), t.second, t.seconds
	if n > 120 {
		n, one, many = (n+59)/60, t.minute, t.minutes
	}
	if n <= 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
