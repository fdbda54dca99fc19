package oauth

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"preismon/contracts/plaintext"
	"preismon/query/oauth/clientdoc"
)

// Limits of a registration.
const (
	maxRegistrationBytes = 16 << 10
	maxRedirects         = 10
	maxRedirectBytes     = 1 << 10 // for one; maxClientID bounds them together
)

var (
	responseTypes = []string{"code"}
	grantTypes    = []string{"authorization_code", "refresh_token"}
)

// registration is the part of a client's metadata that we use (RFC 7591,
// section 2; application_type is from OpenID Connect). Other members are
// ignored, as the RFC requires; URLs in them are never fetched.
type registration struct {
	RedirectURIs    []string `json:"redirect_uris"`
	ClientName      string   `json:"client_name,omitempty"`
	ApplicationType string   `json:"application_type,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
}

// registrationAnswer describes the client as registered.
type registrationAnswer struct {
	ClientID string `json:"client_id"`
	registration
	Scope string `json:"scope"`
}

const (
	typeNative = "native"
	typeWeb    = "web"
)

// register gives a client its id and stores nothing (RFC 7591). What the client
// requests but does not get is replaced in the answer: a client secret by none,
// its scopes by all.
func (s *Server) register(w http.ResponseWriter, r *http.Request) error {
	if err := s.count(r); err != nil {
		return err
	}
	requested, err := decodeRegistration(r)
	if err != nil {
		return err
	}
	m, err := registrationOf(requested, s.cfg.Schemes)
	if err != nil {
		return err
	}
	id, err := s.keys.clientID(m)
	if err != nil {
		return err
	}
	if len(id) > maxClientID {
		return refuse(codeInvalidMetadata, "redirect_uris: too long together.")
	}
	writeJSON(w, http.StatusCreated, registrationAnswer{
		ClientID: id, Scope: ScopeMCP + " " + ScopeOffline,
		registration: registration{
			RedirectURIs: m.Redirects, ClientName: m.Name, ApplicationType: m.Type,
			AuthMethod: "none", GrantTypes: grantTypes, ResponseTypes: responseTypes,
		},
	})
	return nil
}

func decodeRegistration(r *http.Request) (requested registration, err error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return requested, refuse(codeInvalidMetadata, "Content-Type: must be application/json.")
	}
	body, err := readBody(r, maxRegistrationBytes)
	if err != nil {
		return requested, err
	}
	if !utf8.Valid(body) || json.Unmarshal(body, &requested) != nil {
		return requested, refuse(codeInvalidMetadata, "The body is not a JSON object, or a member has another type.")
	}
	return requested, nil
}

// registrationOf checks the metadata and brings it into canonical form.
func registrationOf(a registration, schemes []string) (m registered, err error) {
	switch {
	case len(a.RedirectURIs) == 0:
		return m, refuse(codeInvalidRedirect, "redirect_uris: missing.")
	case len(a.RedirectURIs) > maxRedirects:
		return m, refuse(codeInvalidRedirect, "redirect_uris: more than %d.", maxRedirects)
	case a.GrantTypes != nil && !slices.Contains(a.GrantTypes, grantTypes[0]):
		return m, refuse(codeInvalidMetadata, "grant_types: without authorization_code.")
	case a.ResponseTypes != nil && !slices.Contains(a.ResponseTypes, responseTypes[0]):
		return m, refuse(codeInvalidMetadata, "response_types: without code.")
	}
	switch a.AuthMethod {
	case "", "none", "client_secret_basic", "client_secret_post": // a client that requests a secret gets none
	default:
		return m, refuse(codeInvalidMetadata, "token_endpoint_auth_method: none is the only one.")
	}
	m = registered{Name: plaintext.Clean(a.ClientName, clientdoc.MaxNameRunes), Type: typeWeb, Redirects: slices.Clone(a.RedirectURIs)}
	slices.Sort(m.Redirects)
	m.Redirects = slices.Compact(m.Redirects)
	local := "" // the first one that a web application cannot have
	for _, uri := range m.Redirects {
		if err := clientdoc.ValidRedirect(uri, schemes); err != nil {
			return m, refuse(codeInvalidRedirect, "redirect_uris: %s: %v.", shown(uri), err)
		}
		if len(uri) > maxRedirectBytes {
			return m, refuse(codeInvalidRedirect, "redirect_uris: %s: longer than %d bytes.", shown(uri), maxRedirectBytes)
		}
		if u, err := url.Parse(uri); err != nil || u.Scheme != "https" || clientdoc.Loopback(u) {
			m.Type, local = typeNative, cmp.Or(local, uri)
		}
	}
	switch {
	case a.ApplicationType == typeNative:
		m.Type = typeNative
	case a.ApplicationType == typeWeb && m.Type == typeNative:
		return m, refuse(codeInvalidRedirect, "redirect_uris: %s: those of a web application are https and not on this computer. Say native.", shown(local))
	case a.ApplicationType != "" && a.ApplicationType != typeWeb:
		return m, refuse(codeInvalidMetadata, "application_type: web or native.")
	}
	return m, nil
}

// maxShownURI bounds how much of a URI an error repeats.
const maxShownURI = 200

// shown returns a client's URI for an error: quoted, in ASCII, with its end
// left out if it is long.
func shown(uri string) string {
	if len(uri) > maxShownURI {
		return strconv.QuoteToASCII(uri[:maxShownURI]) + "…"
	}
	return strconv.QuoteToASCII(uri)
}
