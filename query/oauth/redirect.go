package oauth

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"preismon/query/oauth/clientdoc"
)

// allowed reports whether answers to a client may be sent to a URI: it must be
// one of the client's own, byte for byte, but on the user's own computer the
// port may differ (RFC 8252, section 7.3, and OAUTH-04; also for localhost,
// which clients register).
func (c client) allowed(uri string, schemes []string) bool {
	if clientdoc.ValidRedirect(uri, schemes) != nil {
		return false
	}
	any, local := withoutPort(uri)
	return slices.ContainsFunc(c.redirects, func(own string) bool {
		if own == uri {
			return true
		}
		ownAny, ownLocal := withoutPort(own)
		return local && ownLocal && ownAny == any
	})
}

// withoutPort removes the port from a loopback URI.
func withoutPort(uri string) (rest string, local bool) {
	after, ok := strings.CutPrefix(uri, "http://")
	if !ok {
		return "", false
	}
	end := strings.IndexAny(after, "/?")
	if end < 0 {
		end = len(after)
	}
	u, err := url.Parse(uri)
	if err != nil || !clientdoc.Loopback(u) {
		return "", false
	}
	host := strings.TrimSuffix(after[:end], ":"+u.Port())
	return host + after[end:], true
}

// onTheWeb reports whether a redirect URI leads to some web server. Otherwise
// it stays on the person's own computer: loopback, or a scheme of an app.
func onTheWeb(uri string) bool { return strings.HasPrefix(uri, "https:") }

// hostOf returns a name for a client without one: where its answers go.
func hostOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return cmp.Or(u.Host, u.Scheme)
}

// answerAt adds parameters to a redirect URI and leaves the rest unchanged.
func answerAt(uri string, parameters url.Values) string {
	switch base, query, has := strings.Cut(uri, "?"); {
	case !has:
		return uri + "?" + parameters.Encode()
	case query == "":
		return base + "?" + parameters.Encode()
	}
	return uri + "&" + parameters.Encode()
}
