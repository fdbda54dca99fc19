package auth

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// AddressKey returns the key that an address is counted under: an IPv4 address
// itself, or the /64 of an IPv6 address, which belongs to one customer as a
// whole.
func AddressKey(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// networkOf returns the key of the network that an address key belongs to: the
// /48 of an IPv6 key, which is assigned to a site as a whole and has 65,536
// keys. It is empty for an IPv4 key.
func networkOf(key string) string {
	p, err := netip.ParsePrefix(key)
	if err != nil || !p.Addr().Is6() {
		return ""
	}
	network, err := p.Addr().Prefix(48)
	if err != nil {
		return ""
	}
	return network.String()
}

// networkShare is how many times as many requests a network may send as an
// address.
const networkShare = 16

// networked counts the network of an address first, and then the address: when
// a network has sent too many requests, no more of its addresses are counted,
// so that it cannot fill the bucket. Requests of an address that is known to
// have sent too many do not count for its network: they must not keep its other
// addresses out.
type networked struct {
	name    string
	rate    Rate // of an address
	address limiter
	network counter
}

func (n networked) take(key string) (Quota, error) {
	network := networkOf(key)
	if network == "" {
		return n.address.take(key)
	}
	if q, spent := n.address.spent(key); spent {
		return q, throttled(q)
	}
	wide, err := n.network.take(network)
	wide.Policy, wide.Limit, wide.Remaining = n.name, n.rate.Requests, min(wide.Remaining, n.rate.Requests) // the limit of a network has no name of its own
	if err != nil {
		return wide, err
	}
	q, err := n.address.take(key)
	if err != nil {
		return q, err
	}
	return tighter(q, wide), nil
}

// Proxies are the networks of proxies that may name the client in
// X-Forwarded-For.
type Proxies []netip.Prefix

// Client returns the key of the address that a request comes from.
// X-Forwarded-For is read from the right, over all lines of the header, and
// only as far as the proxies are trusted: a proxy may add a line of its own
// below one that the client made up.
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
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}
