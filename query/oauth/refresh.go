package oauth

import (
	"errors"
	"net/http"
	"slices"
	"time"
)

// maxRefresh bounds the refresh tokens of a session that are valid at once, and
// those in their grace.
const maxRefresh = 32

var (
	serialBytes = 16
	serialChars = b64.EncodedLen(serialBytes)
)

// newRefresh creates a refresh token for a session: the grant's id, a random
// serial number, and the seal of both. The seal distinguishes an old token,
// which the record no longer contains, from one that was never issued.
func (s *Server) newRefresh(g *grant) string {
	text := g.ID + random(serialBytes)
	g.Good, g.Issued = append(g.Good, digest([]byte(text))), append(g.Issued, s.now().Unix())
	return text + b64.EncodeToString(seal(s.keys[0].refresh, []byte(text)))
}

// readRefresh returns the session of a refresh token that we issued, and the
// digest by which the record knows the token.
func (s *Server) readRefresh(token string) (id, mark string, ok bool) {
	if len(token) != idChars+serialChars+secretChars {
		return "", "", false
	}
	text := token[:idChars+serialChars]
	sum, ok := decode(token[len(text):])
	if !ok || !s.keys.sealed(func(k keys) []byte { return k.refresh }, []byte(text), sum) {
		return "", "", false
	}
	return text[:idChars], digest([]byte(text)), true
}

var (
	errBadRefresh = refuse(codeInvalidGrant, "The refresh token is not valid: unknown, expired, used, revoked, or not given to this client.")
	errReused     = errors.New("oauth: an old refresh token was used")
)

// refresh exchanges a refresh token for a new one and an access token. For
// RefreshGrace after its first use, a token may be used again, by a second
// process that holds it or after the answer was lost; each use returns a
// different token. After that, using it ends the session, because one of the
// two users is not the client (RFC 9700, section 4.14.2). Nothing prolongs a
// session.
func (s *Server) refresh(w http.ResponseWriter, r *http.Request, clientID string, f form) error {
	if f["refresh_token"] == "" {
		return refuse(codeInvalidRequest, "refresh_token: missing.")
	}
	if err := s.checkResource(f["resource"]); err != nil {
		return err
	}
	id, mark, ok := s.readRefresh(f["refresh_token"])
	if !ok {
		return errBadRefresh
	}
	g, err := s.read(r.Context(), id)
	if errors.Is(err, errNoKey) || err == nil && g.Client != clientID {
		return errBadRefresh
	}
	if err != nil {
		return err
	}
	scopes, err := narrowed(g.Scopes, f["scope"])
	if err != nil {
		return err
	}
	switch active, err := s.active(r.Context(), g.Account); {
	case err != nil:
		return err
	case !active:
		return errBadRefresh
	}
	var next string
	g, err = s.change(r.Context(), id, func(g *grant) error {
		next, err = s.rotate(g, mark)
		return err
	})
	switch {
	case errors.Is(err, errNoKey):
		return errBadRefresh
	case errors.Is(err, errReused), errors.Is(err, errEnded): // errEnded: again, in case its access tokens could not be revoked the first time
		if err := s.end(r.Context(), id); err != nil {
			return err
		}
		if errors.Is(err, errReused) {
			s.note(r, w, "oauth session ended", "why", "old refresh token used", "account", g.Account.String(), "client", clientMark(g.Client))
		}
		return errBadRefresh
	case err != nil:
		return err
	}
	return s.giveTokens(w, g, scopes, next)
}

// rotate replaces a valid token, or adds a token for one in its grace. If there
// are too many, the oldest makes room, unless it may still be in use: a process
// that is at work exchanges its token whenever its access token ends. What is
// left are tokens whose answers were lost.
func (s *Server) rotate(g *grant, mark string) (next string, err error) {
	now := s.now()
	switch {
	case g.State == stateRevoked:
		return "", errEnded
	case g.State != stateSession || now.Unix() >= g.Ends:
		return "", errBadRefresh
	}
	g.Used = slices.DeleteFunc(g.Used, func(u used) bool { return now.UnixMilli() >= u.Until })
	if len(g.Issued) != len(g.Good) {
		g.Issued = make([]int64, len(g.Good))
	}
	if i := slices.Index(g.Good, mark); i >= 0 {
		g.drop(i)
		if len(g.Used) == maxRefresh {
			g.Used = g.Used[1:]
		}
		g.Used = append(g.Used, used{mark, now.Add(s.cfg.RefreshGrace).UnixMilli()})
		return s.newRefresh(g), nil
	}
	switch {
	case !slices.ContainsFunc(g.Used, func(u used) bool { return u.Token == mark }):
		return "", errReused
	case len(g.Good) < maxRefresh:
	case now.Sub(time.Unix(g.Issued[0], 0)) > 2*s.cfg.AccessLifetime:
		g.drop(0)
	default:
		return "", errBadRefresh
	}
	return s.newRefresh(g), nil
}

// drop removes one of the valid tokens.
func (g *grant) drop(i int) {
	g.Good, g.Issued = slices.Delete(g.Good, i, i+1), slices.Delete(g.Issued, i, i+1)
}

// narrowed returns the scopes of an access token: those requested, which must
// be among those consented to.
func narrowed(granted []string, requested string) ([]string, error) {
	if requested == "" {
		return granted, nil
	}
	scopes, err := scopesOf(requested)
	if err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		if !slices.Contains(granted, scope) {
			return nil, refuse(codeInvalidScope, "scope: more than was consented to.")
		}
	}
	return scopes, nil
}
