package auth

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// AddressKey is the key that an address is counted under: an IPv4 address
// itself; of an IPv6 one its /64, which one customer owns as a whole.
func AddressKey(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// Proxies are those that may name the client in X-Forwarded-For.
type Proxies []netip.Prefix

// Client is the key of the address that a request comes from. A proxy's word
// is taken only from trusted proxies, from the right, and over all lines of
// the header: a proxy may add a line of its own below one that the client
// made up.
func (p Proxies) Client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	client, err := netip.ParseAddr(host)
	if err != nil {
		return "unknown"
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && p.trust(client); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		client = hop
	}
	return AddressKey(client)
}

func (p Proxies) trust(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}
