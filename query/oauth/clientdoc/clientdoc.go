// Package clientdoc fetches the metadata documents of OAuth clients whose id is
// the URL of their document (draft-ietf-oauth-client-id-metadata-document, MCP
// authorization 2026-07-28). The authorization server uses it to learn which
// client sent a request and where answers may go.
//
// Anyone can supply the URL, so a fetch reaches only public addresses: each
// address is checked when it is dialled, after the name has been resolved and
// without resolving it again; redirects are not followed, no proxy is used,
// little is read, and nothing that the document refers to is fetched. The
// result is what a host says about its own client; whether to trust that host
// is up to a person.
package clientdoc

import (
	"crypto/x509"
	"net"
	"syscall"
	"time"

	"preismon/contracts"
)

// Document is what a client says about itself.
type Document struct {
	ClientID string // the URL, byte for byte
	Host     string // the host of the URL, which vouches for everything else
	Name     string // at most MaxNameRunes, fit for display, never empty
	// RedirectURIs are all valid, in the document's order; there is at least
	// one.
	RedirectURIs []string
}

// MaxNameRunes bounds the name of a client.
const MaxNameRunes = 60

// Config limits what a fetch may use, and whom it may reach.
type Config struct {
	// Timeout bounds a whole fetch, MaxBytes its body.
	Timeout  time.Duration
	MaxBytes int64
	// A document is kept as long as its Cache-Control says, from MinAge to
	// MaxAge; for MinAge if it says nothing.
	MinAge, MaxAge time.Duration
	// RefusedFor is how long a failure is remembered. The draft (section 5.2)
	// wants no error to be kept; this short memory prevents a client that is
	// requested over and over from making us fetch each time.
	RefusedFor time.Duration
	// Entries bounds what is remembered; the least recently used entries are
	// dropped first.
	Entries int
	// AtOnce bounds the fetches that run at the same time.
	AtOnce int
	// PerMinute bounds the fetches from one registrable domain.
	PerMinute int
	// Ports are the ports that a client id may name or imply.
	Ports []uint16
	// Schemes are allowed in redirect URIs in addition to https and reversed
	// domain names.
	Schemes []string
}

// Defaults returns the limits of the MCP specification and our own. Only port
// 443 is allowed, written out or not: the draft allows others, but with a port
// a fetch could be directed at services that are not web servers.
func Defaults() Config {
	return Config{
		Timeout: 3 * time.Second, MaxBytes: 5 << 10,
		MinAge: time.Minute, MaxAge: 24 * time.Hour, RefusedFor: time.Minute,
		Entries: 1000, AtOnce: 8, PerMinute: 20,
		Ports: []uint16{443},
	}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.Timeout > 0, "timeout: not positive")
	f.Check(c.MaxBytes > 0, "max bytes: not positive")
	f.Check(c.MinAge > 0 && c.MinAge <= c.MaxAge, "min age: %s, above 0 and at most the max age of %s", c.MinAge, c.MaxAge)
	f.Check(c.MaxAge <= 24*time.Hour, "max age: %s, at most 24h", c.MaxAge)
	f.Check(c.RefusedFor > 0, "refused for: not positive")
	f.Check(c.Entries > 0, "entries: not positive")
	f.Check(c.AtOnce > 0, "at once: not positive")
	f.Check(c.PerMinute > 0, "per minute: not positive")
	f.Check(len(c.Ports) > 0, "ports: none")
	for _, name := range c.Schemes {
		f.Check(ValidScheme(name), "schemes: %q is not that of a program", name)
	}
	return f.Err()
}

// Deps are the dependencies of a Fetcher. The zero value is for production;
// tests replace parts of it.
type Deps struct {
	// Control is called with each address before it is connected to, and
	// refuses it by returning an error. Nil: only public addresses, on the
	// ports of the Config.
	Control func(network, address string, c syscall.RawConn) error
	// Resolver resolves hosts. Nil: the system's.
	Resolver *net.Resolver
	// Roots are the certificate authorities trusted for servers. Nil: the
	// system's.
	Roots *x509.CertPool
	// Now is the clock. Nil: the system's.
	Now func() time.Time
}
