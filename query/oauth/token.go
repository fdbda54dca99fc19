package oauth

import (
	"net/http"
	"strings"
	"time"

	"preismon/query/auth"
)

// token answers a request for tokens, and reports it to Granted.
func (s *Server) token(w http.ResponseWriter, r *http.Request) error {
	grantType := "other"
	err := s.exchange(w, r, &grantType)
	if s.deps.Granted != nil {
		failure := ""
		if err != nil {
			failure = failureOf(err).code
		}
		s.deps.Granted(grantType, failure)
	}
	return err
}

// exchange exchanges codes and refresh tokens (RFC 6749, sections 4.1.3 and 6).
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, grantType *string) error {
	if err := s.count(r); err != nil {
		return err
	}
	f, err := posted(r)
	if err != nil {
		return err
	}
	if grant := f["grant_type"]; grant == "authorization_code" || grant == "refresh_token" {
		*grantType = grant
	}
	clientID, err := s.authenticate(f, r.Header.Get("Authorization"))
	if err != nil {
		return err
	}
	switch f["grant_type"] {
	case "":
		return refuse(codeInvalidRequest, "grant_type: missing.")
	case "authorization_code":
		return s.redeem(w, r, clientID, f)
	case "refresh_token":
		return s.refresh(w, r, clientID, f)
	}
	return refuse(codeUnsupportedGrant, "grant_type: authorization_code and refresh_token are the only ones.")
}

// tokenAnswer is the answer of RFC 6749, section 5.1.
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`
}

// giveTokens issues an access token for the resource. The token does not
// outlive its session.
func (s *Server) giveTokens(w http.ResponseWriter, g grant, scopes []string, refresh string) error {
	lifetime := min(s.cfg.AccessLifetime, s.left(g)).Truncate(time.Second)
	if lifetime < time.Second {
		return errBadRefresh
	}
	issued, err := s.deps.Auth.Issue(auth.Grant{
		Account: g.Account, Audience: s.resource, Lifetime: lifetime, Scopes: scopes, Client: g.Client, Session: g.ID,
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, tokenAnswer{
		AccessToken: issued.Token.Reveal(), TokenType: "Bearer", ExpiresIn: int64(lifetime / time.Second),
		RefreshToken: refresh, Scope: strings.Join(scopes, " "),
	})
	return nil
}
