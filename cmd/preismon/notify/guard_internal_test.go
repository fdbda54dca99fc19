package notify

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"code.dny.dev/ssrf"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// privateAddresses are those that neither a webhook nor a mail may go to, unless
// the operator allows their host.
var privateAddresses = map[string][]string{
	"this host":               {"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.8.8.8", "::", "::1"},
	"private":                 {"10.0.0.7", "172.16.0.1", "172.31.255.254", "192.168.1.1"},
	"link-local":              {"169.254.0.1", "169.254.169.254", "fe80::1", "fe80::1%lo"},
	"unique local":            {"fc00::1", "fd00:ec2::254"},
	"carrier-grade NAT":       {"100.64.0.1", "100.127.255.254"},
	"multicast, broadcast":    {"224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1"},
	"reserved, benchmarks":    {"192.0.0.1", "198.18.0.1", "240.0.0.1"},
	"examples":                {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"},
	"an IPv4 address, mapped": {"::ffff:127.0.0.1", "::ffff:10.0.0.7", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::ffff:100.64.0.1"},
	"an IPv4 address, inside": {"::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::10.0.0.7", "2002:7f00:1::1", "2001:0:7f00:1::1"},
}

// TestPrivateAddresses: addresses that are not public are refused where a rules
// file names them, and again when a connection is opened, before anything is sent.
func TestPrivateAddresses(t *testing.T) {
	listening := must.Get(net.Listen("tcp", ":0"))(t) // on all addresses of this host
	defer listening.Close()                           //nolint:errcheck // it is over
	go func() {
		for {
			conn, err := listening.Accept()
			if err != nil {
				return
			}
			t.Errorf("%s was reached", conn.LocalAddr())
			_ = conn.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listening.Addr().String())
	must.Do(t, err)
	prohibited := func(err error) bool {
		return errors.Is(err, ssrf.ErrProhibitedIP)
	}
	for kind, addresses := range privateAddresses {
		for _, a := range addresses {
			ip := netip.MustParseAddr(a)
			if err := guard().SafeAddr(ip); !prohibited(err) {
				t.Errorf("%s, %s, in a file: %v", kind, a, err)
			}
			conn, err := sender(false).Transport.(*http.Transport).DialContext(t.Context(), "tcp", net.JoinHostPort(a, port))
			if err == nil {
				_ = conn.Close()
			}
			if !prohibited(err) {
				t.Errorf("%s, %s, dialled: %v", kind, a, err)
			}
		}
	}
	for _, a := range []string{"8.8.8.8", "193.99.144.80", "100.63.0.1", "172.32.0.1", "2a02:2e0:3fe:1001:7777:772e:2:85"} {
		equals.NoError(t, guard().SafeAddr(netip.MustParseAddr(a)), "%s, which is public", a)
	}
}
