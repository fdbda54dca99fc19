// Package clientdoc fetches the metadata documents of OAuth clients whose id
// is the URL of their document (draft-ietf-oauth-client-id-metadata-document,
// MCP authorization 2026-07-28). The authorization server uses it to learn
// who asks and where answers may go.
//
// The URL comes from anybody, so a fetch reaches public addresses only: each
// address is checked when it is dialled, after the name was resolved and
// without resolving it again; no redirect is followed, no proxy used, little
// read, nothing else of the document fetched. What it gives is what a host
// says of its own client; whether to trust that host is for a person to say.
package clientdoc

import (
	"crypto/x509"
	"net"
	"syscall"
	"time"

	"preismon/contracts"
)

// Document is what a client says of itself.
type Document struct {
	ClientID string // the URL, byte for byte
	Host     string // of the URL: who vouches for all else
	Name     string // at most MaxNameRunes, fit to be shown, never empty
	// RedirectURIs are each valid, in the document's order, at least one.
	RedirectURIs []string
}

// MaxNameRunes bounds the name of a client.
const MaxNameRunes = 60

// Config says how much a fetch may take, and of whom.
type Config struct {
	// Timeout bounds a fetch with all that belongs to it; MaxBytes its body.
	Timeout  time.Duration
	MaxBytes int64
	// A document is kept as long as its Cache-Control says, from MinAge to
	// MaxAge; MinAge when it says nothing.
	MinAge, MaxAge time.Duration
	// RefusedFor is how long a failure is remembered. The draft (section
	// 5.2) wants no error kept; this short memory keeps a client that is
	// asked for again and again from making us knock each time.
	RefusedFor time.Duration
	// Entries bounds what is remembered; the least used goes first.
	Entries int
	// AtOnce bounds the fetches that run at the same time.
	AtOnce int
	// PerMinute bounds the fetches from one registrable domain.
	PerMinute int
	// Ports are those that a client id may name or imply.
	Ports []uint16
	// Schemes are those of redirect URIs beside https and domains in reverse.
	Schemes []string
}

// Defaults are the limits of the MCP specification and of our own. Port 443
// alone, written out or not: the draft allows others, but a port is how a
// fetch is pointed at services that are no web server.
func Defaults() Config {
	return Config{
		Timeout: 3 * time.Second, MaxBytes: 5 << 10,
		MinAge: time.Minute, MaxAge: 24 * time.Hour, RefusedFor: time.Minute,
		Entries: 1000, AtOnce: 8, PerMinute: 20,
		Ports: []uint16{443},
	}
}

// Validate names every fault of the configuration.
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

// Deps are what a Fetcher works with. The zero value is the one for use;
// tests replace parts of it.
type Deps struct {
	// Control sees each address before it is connected to and refuses it by
	// an error. Nil: only public addresses, on the ports of the Config.
	Control func(network, address string, c syscall.RawConn) error
	// Resolver resolves hosts. Nil: the system's.
	Resolver *net.Resolver
	// Roots are the authorities that servers are trusted by. Nil: the system's.
	Roots *x509.CertPool
	// Now is the clock. Nil: the system's.
	Now func() time.Time
}
