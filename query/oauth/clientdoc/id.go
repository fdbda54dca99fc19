package clientdoc

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// MaxIDBytes bounds a client id.
const MaxIDBytes = 2000

// publicHost matches a name with a dot whose last label begins with a letter:
// no reader takes it for an address.
var publicHost = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)

// parseID parses a client id, which must be the URL of a document (section 3 of
// the draft): https, a host that is a lower-case name, one of the ports, a path
// other than "/", and no user, fragment, or dot segment, escaped or not.
func parseID(id string, ports []uint16) (*url.URL, error) {
	switch {
	case len(id) > MaxIDBytes:
		return nil, refuse("The client id is longer than %d bytes.", MaxIDBytes)
	case !strings.HasPrefix(id, "https://"):
		return nil, refuse("The client id is not an https URL.")
	case strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII }), plainURI(id) != nil:
		return nil, refuse("The client id has a fragment or a character that a client id does not have.")
	}
	at, path, _ := authority(strings.TrimPrefix(id, "https:"))
	u, err := url.Parse(id)
	if err != nil || validHost(at) != nil || !publicHost.MatchString(u.Hostname()) || len(u.Hostname()) > 253 {
		return nil, refuse("The client id does not name a public host.")
	}
	port := uint64(443)
	if p := u.Port(); p != "" {
		port, _ = strconv.ParseUint(p, 10, 16)
	}
	if !slices.Contains(ports, uint16(port)) {
		return nil, refuse("The client id names a port that is not served here.")
	}
	if path == "" || path == "/" || dotless(path) != nil {
		return nil, refuse("The client id has no path, or one with dot segments.")
	}
	return u, nil
}
