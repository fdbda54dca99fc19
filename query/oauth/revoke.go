package oauth

import (
	"errors"
	"net/http"

	"preismon/contracts/fault"
)

// revoke ends the session of a token, either an access or a refresh token (RFC
// 7009). For a token that is unknown, belongs to another client or is no longer
// valid, the answer is the same and nothing happens.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := s.count(r); err != nil {
		return err
	}
	f, err := posted(r)
	if err != nil {
		return err
	}
	clientID, err := s.authenticate(f, r.Header.Get("Authorization"))
	if err != nil {
		return err
	}
	if f["token"] == "" {
		return refuse(codeInvalidRequest, "token: missing.")
	}
	id, err := s.sessionOf(r, f["token"], clientID)
	if err != nil {
		return err
	}
	if id != "" {
		if err := s.end(r.Context(), id); err != nil {
			return err
		}
		s.note(r, w, "oauth session ended", "why", "revoked by its client", "client", clientMark(clientID))
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// sessionOf returns the session of a client's token; empty: none.
func (s *Server) sessionOf(r *http.Request, token, clientID string) (string, error) {
	if id, _, ok := s.readRefresh(token); ok {
		g, err := s.read(r.Context(), id)
		if errors.Is(err, errNoKey) || err == nil && g.Client != clientID {
			return "", nil
		}
		return id, err
	}
	t, err := s.deps.Auth.Verify(token, s.resource)
	if faultIs(err, fault.Unauthenticated) || err == nil && t.Client != clientID {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return t.Session, nil
}
