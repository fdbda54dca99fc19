package oauth

import (
	"errors"
	"net/http"
	"net/url"

	"preismon/contracts/fault"
	"preismon/query/oauth/page"
)

func (s *Server) showConsent(w http.ResponseWriter, r *http.Request, t transaction) error {
	sealed, err := s.begin(w, t)
	if err != nil {
		return err
	}
	req := t.Request
	s.show(w, r, http.StatusOK, page.Consent{
		Form: s.form(consentPath, sealed), ClientName: req.Name, ClientHost: req.Vouched, RedirectURI: req.Redirect,
		Account: t.Login, Scopes: req.Scopes,
	})
	return nil
}

// consent handles the form of the consent page. The page is always shown:
// neither a cookie nor an earlier consent replaces a decision.
func (s *Server) consent(w http.ResponseWriter, r *http.Request) error {
	if err := s.count(r); err != nil {
		return err
	}
	f, t, done, err := s.step(w, r, true)
	if done || err != nil {
		return err
	}
	switch f[page.FieldDecision] {
	case page.Allow:
		return s.approve(w, r, t)
	case page.Deny:
		s.finish(w, t.ID)
		s.answer(w, t.Request, errorAnswer(errDenied))
		return nil
	case page.SwitchAccount:
		t.Account, t.Login = 0, ""
		return s.showLogin(w, r, t)
	}
	return refuse(codeInvalidRequest, "decision: none.")
}

var errDenied = refuse(codeAccessDenied, "The person did not agree.")

// approve turns a transaction into a code, once.
func (s *Server) approve(w http.ResponseWriter, r *http.Request, t transaction) error {
	switch active, err := s.active(r.Context(), t.Account); {
	case err != nil:
		return err
	case !active || s.checkClient(t.Request.Client) != nil:
		s.finish(w, t.ID)
		s.answer(w, t.Request, errorAnswer(errDenied))
		return nil
	}
	// The code is created first: a code that is never sent expires by itself,
	// while a transaction that is used up without a code could not be repeated.
	code, g := s.newGrant(t)
	if err := s.create(r.Context(), g); err != nil {
		return err
	}
	err := s.store.create(r.Context(), "consent."+digest([]byte(t.ID)), nil, 2*s.cfg.PageLifetime)
	switch {
	case errors.Is(err, errChanged):
		s.show(w, r, http.StatusBadRequest, page.Problem{Reason: page.Expired})
		return nil
	case err != nil:
		return err
	}
	s.note(r, w, "oauth consent", "account", t.Account.String(), "client", clientMark(t.Request.Client), "scopes", t.Request.Scopes)
	s.finish(w, t.ID)
	s.answer(w, t.Request, url.Values{"code": {code}})
	return nil
}

// clientMark returns how logs refer to a client.
func clientMark(id string) string {
	if isDocument(id) {
		return id
	}
	return digest([]byte(id))[:16]
}

// faultIs reports whether err is a fault of a kind.
func faultIs(err error, kind fault.Kind) bool { return err != nil && fault.KindOf(err) == kind }
