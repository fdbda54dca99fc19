package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"regexp"
	"time"
)

// Sizes of the parts of codes and refresh tokens.
const (
	idBytes     = 16
	secretBytes = 32
)

// newGrant creates a code and its grant. The code is the grant's id and a
// secret of 256 bits, of which only the digest is stored.
func (s *Server) newGrant(t transaction) (code string, g grant) {
	now := s.now()
	id, secret := random(idBytes), random(secretBytes)
	g = grant{
		ID: id, State: stateCode, Account: t.Account, Client: t.Request.Client, Scopes: t.Request.Scopes,
		Code: digest([]byte(secret)), CodeEnds: now.Add(s.cfg.CodeLifetime).Unix(),
		Redirect: t.Request.Redirect, Challenge: t.Request.Challenge, Resource: t.Request.Resource,
		Ends: now.Add(s.cfg.AccessLifetime + s.cfg.CodeLifetime).Unix(),
	}
	if g.offline() {
		g.Ends = now.Add(s.cfg.RefreshLifetime).Unix()
	}
	return id + secret, g
}

var (
	idChars     = b64.EncodedLen(idBytes)
	secretChars = b64.EncodedLen(secretBytes)
)

// verifierForm is the form of a code verifier (RFC 7636, section 4.1).
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

var (
	errBadCode  = refuse(codeInvalidGrant, "The code is not valid: unknown, expired, used, or not given to this client and redirect URI.")
	errCodeUsed = errors.New("oauth: the code was used before")
)

// redeem exchanges a code for a session, once. A request that does not match
// the code leaves it valid: anyone who cannot prove to be the client must not
// be able to use it up. A second redemption ends the session, because one of
// the two requests is not the client's (RFC 6749, section 4.1.2).
func (s *Server) redeem(w http.ResponseWriter, r *http.Request, clientID string, f form) error {
	switch {
	case f["code"] == "":
		return refuse(codeInvalidRequest, "code: missing.")
	case f["code_verifier"] == "":
		return refuse(codeInvalidRequest, "code_verifier: missing.")
	}
	if err := s.checkResource(f["resource"]); err != nil {
		return err
	}
	code := f["code"]
	if len(code) != idChars+secretChars {
		return errBadCode
	}
	var refresh string
	g, err := s.change(r.Context(), code[:idChars], func(g *grant) error {
		refresh = ""
		if subtle.ConstantTimeCompare([]byte(digest([]byte(code[idChars:]))), []byte(g.Code)) != 1 {
			return errBadCode
		}
		if g.State != stateCode {
			return errCodeUsed
		}
		if err := s.fits(*g, clientID, f); err != nil {
			return err
		}
		g.State = stateSession
		if g.offline() {
			refresh = s.newRefresh(g)
		}
		return nil
	})
	switch {
	case errors.Is(err, errNoKey):
		return errBadCode
	case errors.Is(err, errCodeUsed):
		if err := s.end(r.Context(), g.ID); err != nil {
			return err
		}
		s.note(r, w, "oauth session ended", "why", "code used twice", "account", g.Account.String(), "client", clientMark(g.Client))
		return errBadCode
	case err != nil:
		return err
	}
	return s.giveTokens(w, g, g.Scopes, refresh)
}

// fits returns why a request may not redeem a code; nil: it may.
func (s *Server) fits(g grant, clientID string, f form) error {
	sum := sha256.Sum256([]byte(f["code_verifier"]))
	switch {
	case s.now().Unix() >= g.CodeEnds, g.Client != clientID:
		return errBadCode
	case f["redirect_uri"] != "" && f["redirect_uri"] != g.Redirect: // OAuth 2.1 clients leave it out
		return errBadCode
	case !verifierForm.MatchString(f["code_verifier"]),
		subtle.ConstantTimeCompare([]byte(b64.EncodeToString(sum[:])), []byte(g.Challenge)) != 1:
		return refuse(codeInvalidGrant, "The code_verifier does not fit the code_challenge.")
	case g.Resource && f["resource"] == "":
		return refuse(codeInvalidTarget, "resource: missing, while the authorization request named it.")
	}
	return nil
}

// left returns how much longer a grant lasts.
func (s *Server) left(g grant) time.Duration { return time.Unix(g.Ends, 0).Sub(s.now()) }
