// Package ingest holds all of JetStream: the streams' definitions, publishing
// events, reading them from files, and the durable consumer loop that hands
// them in order to a Sink, under a lease that one process holds at a time.
//
// An event is accepted when the server has acknowledged it, and publishers keep
// trying until then: the event's ID is the message id, so a second try does not
// create a second event within the streams' duplicate window. The consumer loop
// delivers every message to its Sink at least once and in order, or puts it
// into the dead letters with the reason; exactly-once is up to the Sink, which
// knows what it has by (epoch, sequence).
package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"preismon/contracts"
)

// Config describes how to reach the NATS server.
type Config struct {
	// URL of the server, or several with commas between them:
	// nats://host:4222, tls://user:password@host:4222.
	URL   string
	Name  string           // of this client, as the server's monitoring shows it
	Token contracts.Secret // instead of a user and password in the URL

	CAFile string // PEM bundle of the CA that signed the server's certificate, instead of the system's

	// Logger logs what happens to the connection; nil: nothing is logged.
	Logger *slog.Logger
}

// Validate returns every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	hasUser := false
	if c.URL == "" {
		f.Addf("nats-url: missing")
	}
	for i, one := range strings.Split(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if c.URL == "" {
			break
		}
		if err != nil || u.Host == "" {
			// Not quoted: it may contain a password.
			f.Addf("nats-url: number %d is not a URL like nats://host:4222", i+1)
			continue
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			f.Addf("nats-url: scheme %q of number %d is none of nats, tls, ws, wss", u.Scheme, i+1)
		}
		hasUser = hasUser || u.User != nil
	}
	f.Check(c.Token == "" || !hasUser, "nats token: cannot be combined with a user in the url")
	if c.CAFile != "" {
		if _, err := os.Stat(c.CAFile); err != nil {
			f.Addf("nats-ca: %w", err)
		}
	}
	return f.Err()
}

// RedactedURL returns the URL without passwords, safe to log.
func (c Config) RedactedURL() string {
	all := strings.Split(c.URL, ",")
	for i, one := range all {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil:
			all[i] = "***"
		case u.User == nil:
		default:
			// A user name without a password is a token.
			u.User = url.User("***")
			all[i] = strings.Replace(u.String(), "%2A%2A%2A", "***", 1)
		}
	}
	return strings.Join(all, ",")
}

// Connect connects to the server and fails if it cannot. From then on the
// connection restores itself, however long the server is away; what is
// published meanwhile fails at once instead of waiting in a buffer. Options are
// for tests and for a server in the same process.
func Connect(c Config, options ...nats.Option) (*nats.Conn, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	log := cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	opts := []nats.Option{
		nats.Name(c.Name),
		nats.Timeout(5 * time.Second),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.IgnoreAuthErrorAbort(), // a password that is being rotated is no reason to give up
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("nats connection lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("nats connection restored", "server", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("nats error", "error", err, "subject", subject)
		}),
	}
	if c.Token != "" {
		opts = append(opts, nats.Token(c.Token.Reveal()))
	}
	if c.CAFile != "" {
		opts = append(opts, nats.RootCAs(c.CAFile))
	}
	nc, err := nats.Connect(c.URL, append(opts, options...)...)
	if errors.Is(err, nats.ErrNoServers) {
		return nil, fmt.Errorf("nothing answers at %s: is NATS running, and is this its address? (%w)", c.RedactedURL(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to nats at %s: %w", c.RedactedURL(), err)
	}
	return nc, nil
}
