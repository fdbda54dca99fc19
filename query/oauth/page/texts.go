package page

import (
	"fmt"
	"time"
)

// texts holds all words of the pages in one language.
type texts struct {
	Lang string // for the attribute lang and for Content-Language

	LoginTitle, LoginLead  string
	Login, Password        string
	SignIn                 string
	Error                  string // in front of the title of a page with an error
	WrongCredentials       string
	TooManyAttempts        string // with a placeholder for a time
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
	TryAgainIn             string // with a placeholder for a time
	Problems               map[Reason]problem

	second, seconds, minute, minutes string
}

// granted describes a scope: what it allows, and what that means.
type granted struct{ Title, Explains string }

// problem describes what is wrong and what to do.
type problem struct{ Title, What, Do string }

// wait returns a duration in words: in seconds up to two minutes, otherwise in
// minutes, always rounded up.
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
