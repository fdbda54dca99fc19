package page

import (
	"fmt"
	"time"

	"preismon/contracts/plaintext"
)

// Reason is why there is nothing to ask and nowhere to send the browser.
type Reason string

const (
	Expired           Reason = "expired"            // the transaction is older than 10 minutes, or was ended
	UnknownClient     Reason = "unknown client"     // no such client id
	BadRedirect       Reason = "bad redirect"       // not one of the client's
	BadRequest        Reason = "bad request"        // cannot be understood
	ClientUnreachable Reason = "client unreachable" // its metadata document cannot be fetched, or is wrong
	OtherBrowser      Reason = "other browser"      // its cookie is missing or belongs to another browser
	TooManyRequests   Reason = "too many requests"  // see Problem.Wait
	Unavailable       Reason = "unavailable"        // see Problem.Wait
	Internal          Reason = "internal"
)

// Problem explains what is wrong and what to do about it.
type Problem struct {
	Reason Reason
	Wait   time.Duration // for TooManyRequests and Unavailable; 0: unknown
	// For the maintainers of the client or of this service; each may be empty.
	Code, Detail, RequestID string
}

// maxDetail is the maximum length, in runes, of a problem's detail.
const maxDetail = 300

func (p Problem) view(t *texts) (view, error) {
	words, ok := t.Problems[p.Reason]
	if !ok {
		return view{}, fmt.Errorf("no words for the problem %q", p.Reason)
	}
	if p.Wait > 0 && (p.Reason == TooManyRequests || p.Reason == Unavailable) {
		words.Do = fmt.Sprintf(t.TryAgainIn, t.wait(p.Wait))
	}
	return view{template: "problem.html", title: words.Title, formAction: "'none'", body: struct {
		problem
		Code, Detail, Request string
	}{words, plaintext.Clean(p.Code, maxShown), plaintext.Clean(p.Detail, maxDetail), plaintext.Clean(p.RequestID, maxShown)}}, nil
}
