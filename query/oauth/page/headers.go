package page

import (
	"net/http"
	"net/url"
)

// setHeaders makes sure that a page runs nothing, loads nothing but our style
// sheet, is shown in no frame, stored nowhere and not revealed to other sites.
// Our own site must see where a form came from, for browsers that send nothing
// but Origin. There is no Cross-Origin-Opener-Policy: a client that opens the
// login in a window of its own would lose that window, and an opener cannot
// read anything.
func setHeaders(h http.Header, formAction string) {
	policy := "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
	if formAction != "" {
		policy += "; form-action " + formAction
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// answerPolicy returns the form-action for a form whose answer is a redirect to
// the client. Chromium and Safari apply it to every redirect that follows a
// form, including those of the client's own server:
//
//   - A client on this computer: its address, and https, because such clients
//     often send the browser on to one of their web pages. A policy cannot name
//     [::1], so http as a whole stands for it (and includes https).
//   - A private-use scheme: the scheme.
//   - A web client: none at all. Its server may send the browser on to any
//     scheme (claude.ai does, to its desktop program), and no source covers all
//     of them. The form holds nothing that the page's own session does not
//     guard, and there is no script that could change it.
func answerPolicy(u *url.URL) string {
	switch {
	case u.Scheme == "https":
		return ""
	case u.Scheme != "http":
		return "'self' " + u.Scheme + ":"
	case u.Hostname() == "::1":
		return "'self' http:"
	}
	return "'self' http://" + u.Host + " https:"
}
