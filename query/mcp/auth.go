package mcp

import (
	"net/http"
	"slices"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/auth"
)

// scope is what an access token must have been granted. Clients request only
// the scopes of a challenge, so it offers refresh tokens too.
const (
	scope        = "mcp"
	offeredScope = scope + " offline_access"
)

// caller identifies the sender of a POST. A POST without a valid token is
// counted for the address that it comes from.
func (h *handler) caller(r *http.Request) (*auth.Token, error) {
	raw := bearer(r)
	token, err := h.verify(raw)
	if err == nil {
		return token, nil
	}
	if _, throttled := h.throttle.Anonymous(h.cfg.TrustedProxies.Client(r)); throttled != nil {
		return nil, throttled
	}
	return nil, h.unauthorized(err, raw != "")
}

// unauthorized refuses a POST because of its token.
func (h *handler) unauthorized(err error, given bool) error {
	no := h.refusalOf(err, nil)
	switch fault.KindOf(err) {
	case fault.Unauthenticated:
		no.challenge = h.challenge(given)
	case fault.Forbidden:
		no.challenge = `Bearer error="insufficient_scope", scope="` + offeredScope + `", resource_metadata="` + h.resourceMetadata() + `"`
	default:
		return err
	}
	return no
}

func (h *handler) verify(raw string) (*auth.Token, error) {
	if raw == "" {
		return nil, auth.TokenMissing()
	}
	token, err := h.auth.Verify(raw, h.cfg.BaseURL+"/mcp")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(token.Scopes, scope) {
		return nil, fault.New(fault.Forbidden, query.CodeForbidden, "The access token lacks the scope %s.", scope)
	}
	return token, nil
}

// bearer returns the token of a request; empty: none.
func bearer(r *http.Request) string {
	scheme, token := auth.Credential(r)
	if scheme != "bearer" {
		return ""
	}
	return token
}

// challenge tells the client where to get a token (RFC 9728), and, if one was
// given, that it is not valid.
func (h *handler) challenge(given bool) string {
	c := `Bearer resource_metadata="` + h.resourceMetadata() + `", scope="` + offeredScope + `"`
	if given {
		c += `, error="invalid_token"`
	}
	return c
}

func (h *handler) resourceMetadata() string {
	return h.cfg.BaseURL + "/.well-known/oauth-protected-resource/mcp"
}
