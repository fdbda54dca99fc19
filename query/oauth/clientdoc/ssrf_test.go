package clientdoc_test

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"code.dny.dev/ssrf"

	"preismon/contracts/fault"
	"preismon/query/oauth/clientdoc"
)

// private are addresses inside networks, one or more of each range.
var private = []string{
	"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255",
	"192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"::1", "::", "fe80::1", "fc00::1", "fd12:3456:789a::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
	"2002:7f00:1::1", "2001::1", "2001:db8::1", "fec0::1", "100::1",
}

// The default check refuses each of them, by the address that a name resolves
// to (line 20 of the OAuth checklist).
func TestPrivateAddresses(t *testing.T) {
	w := newWorld(t)
	for _, a := range private {
		n := serveNames(t, []string{a})
		_, err := w.fetcher(strict(n)).Fetch(t.Context(), w.id("/client.json"))
		wantFault(t, a, err, fault.Unavailable)
		if !errors.Is(err, ssrf.ErrProhibitedIP) {
			t.Errorf("%s: %v", a, err)
		}
		var f *fault.Error
		if errors.As(err, &f) && strings.Contains(f.Msg, a) {
			t.Errorf("%s is told: %s", a, f.Msg)
		}
	}
	w.wantHits(0)
}

// strict uses the default check, with the given name server.
func strict(n *names) func(*clientdoc.Config, *clientdoc.Deps) {
	return func(_ *clientdoc.Config, d *clientdoc.Deps) { d.Control, d.Resolver = nil, n.resolver }
}

// Mixed answers do not help: each address is checked separately.
func TestMixedAddresses(t *testing.T) {
	w := newWorld(t)
	n := serveNames(t, []string{"10.0.0.1", "127.0.0.1", "::1"})
	_, err := w.fetcher(strict(n)).Fetch(t.Context(), w.id("/client.json"))
	if wantFault(t, "mixed", err, fault.Unavailable); !errors.Is(err, ssrf.ErrProhibitedIP) {
		t.Errorf("%v", err)
	}
	w.wantHits(0)
}

var errNotDialled = errors.New("a public address; this test goes no further")

// A name that is public when it is checked and private when it is dialled gets
// nowhere: the name is resolved one time, and the checked address is dialled.
func TestRebinding(t *testing.T) {
	w := newWorld(t)
	n := serveNames(t, []string{"8.8.8.8"}, []string{"127.0.0.1"})
	guard := ssrf.New(ssrf.WithPorts(w.port))
	var mu sync.Mutex
	var dialled []string
	f := w.fetcher(func(_ *clientdoc.Config, d *clientdoc.Deps) {
		d.Resolver = n.resolver
		d.Control = func(network, address string, c syscall.RawConn) error {
			mu.Lock()
			dialled = append(dialled, address)
			mu.Unlock()
			if err := guard.Safe(network, address, c); err != nil {
				return err
			}
			return errNotDialled
		}
	})
	_, err := f.Fetch(t.Context(), w.id("/client.json"))
	if !errors.Is(err, errNotDialled) || n.lookups() != 1 {
		t.Errorf("%v after %d look-ups", err, n.lookups())
	}
	w.pass(time.Hour)
	_, err = f.Fetch(t.Context(), w.id("/client.json"))
	if !errors.Is(err, ssrf.ErrProhibitedIP) || n.lookups() != 2 {
		t.Errorf("%v after %d look-ups", err, n.lookups())
	}
	if len(dialled) != 2 || netip.MustParseAddrPort(dialled[0]).Addr() != netip.MustParseAddr("8.8.8.8") || netip.MustParseAddrPort(dialled[1]).Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%v", dialled)
	}
	w.wantHits(0)
}

// A port that no id may have is not dialled either.
func TestPortsAreChecked(t *testing.T) {
	w := newWorld(t)
	_, err := w.fetcher(strict(serveNames(t, []string{"8.8.8.8"})), func(c *clientdoc.Config, _ *clientdoc.Deps) { c.Ports = []uint16{443} }).Fetch(t.Context(), w.id("/client.json"))
	wantFault(t, "port", err, fault.Invalid)
}

// A proxy from the environment would dial unchecked. It is read one time per
// process, so all tests here run with a proxy that answers no one.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Exit(m.Run())
}

// A server that cannot prove its name is not read.
func TestCertificates(t *testing.T) {
	w := newWorld(t)
	for name, set := range map[string]func(*clientdoc.Config, *clientdoc.Deps){
		"another authority": func(_ *clientdoc.Config, d *clientdoc.Deps) { d.Roots = nil },
		"another name":      func(*clientdoc.Config, *clientdoc.Deps) {},
	} {
		id := w.id("/client.json")
		if name == "another name" {
			id = w.at("stranger.example.com", "/client.json")
		}
		_, err := w.fetcher(set).Fetch(t.Context(), id)
		wantFault(t, name, err, fault.Unavailable)
	}
	w.wantHits(0)
}
