package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// buildInfo matches the build in /metrics of a role.
var buildInfo = regexp.MustCompile(`(?m)^preismon_build_info\{build="([^"]*)"\} 1$`)

// versions compares the builds of all nodes and roles. During an upgrade they
// differ.
func (s *Site) versions(ctx context.Context) []Finding {
	const check = "versions"
	at := map[string][]string{} // by build
	var pages []string
	for _, node := range s.Nodes {
		pages = append(pages, strings.TrimRight(node, "/")+"/healthz")
	}
	for _, role := range s.Admins {
		pages = append(pages, strings.TrimRight(role, "/")+"/metrics")
	}
	for i, build := range each(pages, func(page string) string { return buildAt(ctx, page) }) {
		if build != "" {
			server := pages[i][:strings.LastIndexByte(pages[i], '/')]
			at[build] = append(at[build], server)
		}
	}
	builds := slices.Sorted(maps.Keys(at))
	switch len(builds) {
	case 0: // servers that do not answer are reported by other checks
		return nil
	case 1:
		return one(check, OK, "", "%s, on all that answer", builds[0])
	}
	var said []string
	for _, b := range builds {
		said = append(said, fmt.Sprintf("%s at %s", b, strings.Join(at[b], ", ")))
	}
	return one(check, Warning, "preismon version # on each machine; then start the older ones again with the new program", "they differ: %s", strings.Join(said, "; "))
}

// buildAt returns the build in /healthz of a node or in /metrics of a role; empty
// if it does not answer.
func buildAt(ctx context.Context, page string) string {
	body, err := ask(ctx, page, http.StatusOK)
	if err != nil {
		return ""
	}
	if m := buildInfo.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	var health struct{ Build string }
	_ = json.Unmarshal(body, &health) // otherwise it is not a node
	return health.Build
}

// When a certificate is about to expire.
const (
	certificateSoon = 21 * 24 * time.Hour
	certificateLate = 3 * 24 * time.Hour
)

// certificates checks until when those of the query nodes and of the servers are
// valid.
func (s *Site) certificates(ctx context.Context) (found []Finding) {
	var servers []string // HOST or HOST:PORT
	for _, node := range s.Nodes {
		if u, err := url.Parse(node); err == nil && u.Scheme == "https" {
			servers = append(servers, u.Host)
		}
	}
	found = slices.Concat(each(slices.Concat(servers, s.TablesTLS), func(of string) []Finding { return s.certificate(ctx, of) })...)
	if s.NATS != nil {
		if state, err := s.NATS.TLSConnectionState(); err == nil { // otherwise it is without TLS
			found = append(found, s.validity("NATS at "+s.NATS.ConnectedAddr(), "nats server request connections # shows the address; then renew its certificate", state.PeerCertificates[0].NotAfter)...)
		}
	}
	return found
}

// certificate checks that of an address, with the port of HTTPS if it has none.
func (s *Site) certificate(ctx context.Context, of string) []Finding {
	u := url.URL{Host: of}
	host, at := u.Hostname(), net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
	show := fmt.Sprintf("openssl s_client -connect %s -servername %s </dev/null | openssl x509 -noout -dates -issuer", at, host)
	// One that is no longer valid is read too: nothing is sent to it.
	dialer := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}} //nolint:gosec // only its dates are read
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return one("certificate", Unknown, show, "%s: %v", of, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	return s.validity(of, show+" # then renew it where TLS ends", conn.(*tls.Conn).ConnectionState().PeerCertificates[0].NotAfter)
}

// validity returns a finding about how long a certificate is still valid.
func (s *Site) validity(of, mend string, ends time.Time) []Finding {
	return one("certificate", below(ends.Sub(s.Now()), certificateSoon, certificateLate), mend, "of %s, valid until %s", of, ends.UTC().Format(time.RFC3339))
}
