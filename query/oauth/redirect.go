package oauth

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"preismon/query/oauth/clientdoc"
)

// allowed tells whether a client may be answered at a URI: byte for byte one
// of its own, but on the user's own computer with any port (RFC 8252, section
// 7.3, and OAUTH-04; for localhost too, which clients register).
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

// withoutPort takes the port out of a loopback URI.
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

// onTheWeb tells a redirect URI of anybody's server from one that stays on the
// person's own computer: loopback, or a scheme of an app.
func onTheWeb(uri string) bool { return strings.HasPrefix(uri, "https:") }

// hostOf names a client that has no name by where its answers go.
func hostOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return cmp.Or(u.Host, u.Scheme)
}

// answerAt adds parameters to a redirect URI and leaves the rest of it alone.
func answerAt(uri string, parameters url.Values) string {
	switch base, query, has := strings.Cut(uri, "?"); {
	case !has:
		return uri + "?" + parameters.Encode()
	case query == "":
		return base + "?" + parameters.Encode()
	}
	return uri + "&" + parameters.Encode()
}
