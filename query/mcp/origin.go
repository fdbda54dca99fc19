package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"preismon/contracts/fault"
	"preismon/query"
)

// fromHere refuses a request that a page of a foreign origin sends, or one that
// was meant for another host: names can be made to point at us (DNS rebinding).
// A client that is not a browser sends no origin.
func (h *handler) fromHere(r *http.Request) error {
	if !sameHost(h.base.Hostname(), r.Host) {
		return fault.New(fault.Forbidden, query.CodeForbidden, "The header Host does not name this service. A proxy must forward the header Host unchanged.")
	}
	for _, origin := range r.Header.Values("Origin") {
		if !h.allowed(origin) {
			return fault.New(fault.Forbidden, query.CodeForbidden, "Pages of this origin may not call the service.")
		}
	}
	return nil
}

// sameHost compares only names: a client that uses our name means us, and ports
// differ where they are mapped.
func sameHost(ours, requested string) bool {
	u, err := url.Parse("//" + requested)
	if err != nil || u.Host != requested {
		return false
	}
	theirs := strings.TrimSuffix(u.Hostname(), ".")
	return strings.EqualFold(ours, theirs) || isLoopback(ours) && isLoopback(theirs)
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// allowed reports whether an origin is ours or one of those that may call.
func (h *handler) allowed(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	return originOf(u) == originOf(h.base) || slices.Contains(h.cfg.AllowedOrigins, origin)
}

// originOf returns the origin of a URL in canonical form (RFC 6454).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
