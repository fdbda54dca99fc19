package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// grant is the record of one consent: first its code, then the session that the
// code was redeemed for. All changes are made by compare and set.
type grant struct {
	ID       string              `json:"-"` // the session of its access tokens
	revision uint64              // as read
	State    state               `json:"state"`
	Account  contracts.AccountID `json:"account"`
	Client   string              `json:"client"`
	Scopes   []string            `json:"scopes"`
	Ends     int64               `json:"ends"` // Unix seconds: when all that it granted ends

	// The code. It is kept, so that a second redemption is recognized.
	Code      string `json:"code"` // digest
	CodeEnds  int64  `json:"codeEnds"`
	Redirect  string `json:"redirect"`
	Challenge string `json:"challenge"`
	Resource  bool   `json:"resource,omitempty"` // whether the client named it

	// The session: refresh tokens that are valid, the oldest first, and those that
	// were used and are still accepted.
	Good   []string `json:"good,omitempty"`   // digests
	Issued []int64  `json:"issued,omitempty"` // Unix seconds, of each in Good; missing in records of older versions
	Used   []used   `json:"used,omitempty"`
}

// used is a refresh token that has been exchanged.
type used struct {
	Token string `json:"t"` // digest
	Until int64  `json:"u"` // Unix milliseconds: the end of its grace
}

type state string

const (
	stateCode    state = "code"
	stateSession state = "session"
	stateRevoked state = "revoked"
)

func (g grant) offline() bool { return slices.Contains(g.Scopes, ScopeOffline) }

func grantKey(id string) string { return "grant." + digest([]byte(id)) }

// create stores a new grant for as long as its code is valid.
func (s *Server) create(ctx context.Context, g grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return s.store.create(ctx, grantKey(g.ID), text, s.cfg.CodeLifetime)
}

// read returns a grant; errNoKey if there is none.
func (s *Server) read(ctx context.Context, id string) (g grant, err error) {
	text, revision, err := s.store.get(ctx, grantKey(id))
	if err != nil {
		return g, err
	}
	if err := json.Unmarshal(text, &g); err != nil {
		return g, fmt.Errorf("read a grant: %w", err)
	}
	g.ID, g.revision = id, revision
	return g, nil
}

// change reads a grant, applies f and stores the result. It starts again
// whenever the grant was written by another in between. An error of f ends it,
// and nothing is stored.
func (s *Server) change(ctx context.Context, id string, f func(*grant) error) (grant, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	for {
		g, err := s.read(ctx, id)
		if err != nil {
			return g, err
		}
		if err := f(&g); err != nil {
			return g, err
		}
		text, err := json.Marshal(g)
		if err != nil {
			return g, err
		}
		err = s.store.update(ctx, grantKey(id), text, g.revision, time.Unix(g.Ends, 0).Sub(s.now()))
		if !errors.Is(err, errChanged) {
			return g, err
		}
	}
}

var errEnded = errors.New("oauth: the session is revoked")

// end revokes a session: from now on, no refresh and no access token of it is
// accepted. It may be repeated.
func (s *Server) end(ctx context.Context, id string) error {
	_, err := s.change(ctx, id, func(g *grant) error {
		if g.State == stateRevoked {
			return errEnded
		}
		g.State, g.Good, g.Issued, g.Used = stateRevoked, nil, nil, nil
		return nil
	})
	if err != nil && !errors.Is(err, errEnded) && !errors.Is(err, errNoKey) {
		return err
	}
	// A faster request may have issued an access token until now.
	if err := s.deps.Auth.RevokeSession(ctx, id, s.now().Add(s.cfg.AccessLifetime+time.Minute)); err != nil {
		return unavailable(err)
	}
	return nil
}

// active reports whether clients may still act for an account.
func (s *Server) active(ctx context.Context, account contracts.AccountID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	a, err := s.deps.Accounts.Access(ctx, account)
	if faultIs(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && !a.Disabled && !a.Administrative, err
}
