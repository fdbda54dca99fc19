package clientdoc

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxRedirectBytes bounds a redirect URI.
const MaxRedirectBytes = 2000

// privateScheme is a private-use scheme in the form of RFC 8252, section 7.1: a
// reversed domain name, which therefore contains a dot.
var privateScheme = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`)

// schemeName matches any scheme (RFC 3986, section 3.1), in lower case.
var schemeName = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// webSchemes are schemes that a browser opens by itself, so no program has
// them.
var webSchemes = []string{"about", "blob", "data", "file", "filesystem", "ftp", "http", "https", "javascript", "mailto", "vbscript", "view-source", "ws", "wss"}

// ValidScheme reports whether a scheme can belong to a program, as the schemes
// of a Config do.
func ValidScheme(name string) bool {
	return schemeName.MatchString(name) && !slices.Contains(webSchemes, name)
}

// ValidRedirect returns why answers must not be sent to a URI that a client
// names; nil: they may. Allowed are https to any host; http to 127.0.0.1, [::1]
// and localhost, on any port; and, followed by a path, a private-use scheme
// that is a reversed domain name (RFC 8252, section 7) or one of schemes, which
// belong to programs without such a domain. Another program on the same
// computer may claim those as well, but the code is of no use to it without the
// verifier (RFC 7636). The URI must be absolute, at most MaxRedirectBytes of
// printable ASCII, without fragment, user, wildcard, backslash, control
// character and dot segment, escaped or not. The error does not repeat it.
func ValidRedirect(uri string, schemes []string) error {
	if len(uri) > MaxRedirectBytes {
		return fmt.Errorf("longer than %d bytes", MaxRedirectBytes)
	}
	if err := plainURI(uri); err != nil {
		return err
	}
	scheme, rest, found := strings.Cut(uri, ":")
	if !found {
		return errors.New("not absolute")
	}
	u, err := url.Parse(uri)
	if err != nil {
		return errors.New("not a URI")
	}
	authority, path, slashed := authority(rest)
	switch {
	case scheme == "https" || scheme == "http":
		if !slashed {
			return errors.New("no host")
		}
		if err := validHost(authority); err != nil {
			return err
		}
		if scheme == "http" && !Loopback(u) {
			return errors.New("http to a host that is not the client's own computer")
		}
	case !privateScheme.MatchString(scheme) && !slices.Contains(schemes, scheme):
		return errors.New("a scheme that is neither https nor a domain in reverse, nor one of those that are configured")
	case slashed && authority != "" && validHost(authority) != nil:
		return errors.New("a host that is none")
	case !strings.HasPrefix(rest, "/"):
		return errors.New("no path")
	}
	return dotless(path)
}

// Loopback reports whether a URL leads to the computer on which it is opened
// (RFC 8252, section 7.3, and the name localhost, which clients use).
func Loopback(u *url.URL) bool {
	switch u.Hostname() {
	case "127.0.0.1", "::1", "localhost":
		return true
	}
	return false
}

// plainURI refuses bytes that no URI contains, and those that give it a
// different meaning for another reader.
func plainURI(uri string) error {
	for i := range len(uri) {
		switch c := uri[i]; {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return errors.New("a character that a URI does not have")
		case c == '#':
			return errors.New("a fragment")
		case c == '*':
			return errors.New("a wildcard")
		case c == '%':
			b, err := strconv.ParseUint(uri[i+1:min(i+3, len(uri))], 16, 8)
			if err != nil || i+3 > len(uri) {
				return errors.New("a broken escape")
			}
			if b < ' ' || b == 0x7f || b == '\\' {
				return errors.New("an escaped control character or backslash")
			}
		}
	}
	return nil
}

// authority splits what follows the scheme's colon into the authority, which is
// between "//" and the path, and the path. The query is dropped.
func authority(rest string) (authority, path string, slashed bool) {
	rest, _, _ = strings.Cut(rest, "?")
	after, slashed := strings.CutPrefix(rest, "//")
	if !slashed {
		return "", rest, false
	}
	end := strings.IndexByte(after, '/')
	if end < 0 {
		return after, "", true
	}
	return after[:end], after[end:], true
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

// validHost accepts host or host:port, where the host is a name or an address,
// without user and escapes.
func validHost(authority string) error {
	host, port := authority, ""
	if at := strings.LastIndexByte(authority, ':'); at >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:at], authority[at+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
			return errors.New("a port that is none")
		}
	}
	if v6, ok := strings.CutPrefix(host, "["); ok {
		if a, err := netip.ParseAddr(strings.TrimSuffix(v6, "]")); err != nil || !a.Is6() || a.Zone() != "" || !strings.HasSuffix(v6, "]") {
			return errors.New("an address that is none")
		}
		return nil
	}
	if len(host) > 253 || !hostName.MatchString(host) {
		return errors.New("a host that is none")
	}
	return nil
}

// dotless refuses "." and ".." as segments, no matter how often they are
// escaped.
func dotless(path string) error {
	for range 4 {
		for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' || r == ';' }) {
			if segment == "." || segment == ".." {
				return errors.New("a dot segment")
			}
		}
		plain, err := url.PathUnescape(path)
		if err != nil || plain == path {
			return nil
		}
		path = plain
	}
	return errors.New("escaped too often")
}
