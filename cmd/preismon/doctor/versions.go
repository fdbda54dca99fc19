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
	for _, node := range s.Nodes {
		node = strings.TrimRight(node, "/")
		var said struct{ Build string }
		if body, err := ask(ctx, node+"/healthz", http.StatusOK); err == nil && json.Unmarshal(body, &said) == nil {
			at[said.Build] = append(at[said.Build], node)
		}
	}
	for _, role := range s.Admins {
		role = strings.TrimRight(role, "/")
		if body, err := ask(ctx, role+"/metrics", http.StatusOK); err == nil {
			if m := buildInfo.FindSubmatch(body); m != nil {
				at[string(m[1])] = append(at[string(m[1])], role)
			}
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

// When a certificate is about to expire.
const (
	certificateSoon = 21 * 24 * time.Hour
	certificateLate = 3 * 24 * time.Hour
)

// certificates checks until when those of the query nodes and of the servers are
// valid.
func (s *Site) certificates(ctx context.Context) (found []Finding) {
	for _, node := range s.Nodes {
		if u, err := url.Parse(node); err == nil && u.Scheme == "https" {
			found = append(found, s.certificate(ctx, u.Host, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))...)
		}
	}
	for _, at := range s.TablesTLS {
		found = append(found, s.certificate(ctx, at, at)...)
	}
	if s.NATS != nil {
		if state, err := s.NATS.TLSConnectionState(); err == nil { // otherwise it is without TLS
			found = append(found, s.validity("NATS at "+s.NATS.ConnectedAddr(), "nats server request connections # shows the address; then renew its certificate", state.PeerCertificates[0].NotAfter)...)
		}
	}
	return found
}

// certificate checks that of an address.
func (s *Site) certificate(ctx context.Context, of, at string) []Finding {
	host, _, _ := net.SplitHostPort(at)
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
	left := ends.Sub(s.Now())
	state := OK
	switch {
	case left < certificateLate:
		state = Bad
	case left < certificateSoon:
		state = Warning
	}
	return one("certificate", state, mend, "of %s, valid until %s", of, ends.UTC().Format(time.RFC3339))
}
