package oauth

import (
	"net/http"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/auth"
	"preismon/query/oauth/page"
)

// step reads a page's form and the transaction in it. If it cannot go on, it
// has answered, and done is true.
func (s *Server) step(w http.ResponseWriter, r *http.Request, loggedIn bool) (f form, t transaction, done bool, err error) {
	if err := s.sameSite(r); err != nil {
		return nil, t, false, err
	}
	if f, err = posted(r); err != nil {
		return nil, t, false, err
	}
	t, why := s.resume(r, f[page.FieldTransaction])
	if why == "" && loggedIn != (t.Account != 0) {
		why = page.Expired
	}
	if why != "" {
		s.show(w, r, http.StatusBadRequest, page.Problem{Reason: why})
	}
	return f, t, why != "", nil
}

// form returns where a page's form is sent and what it contains.
func (s *Server) form(path, sealed string) page.Form {
	return page.Form{Action: s.base.Path + path, Transaction: sealed}
}

// showLogin shows the login page as the first step.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, t transaction) error {
	sealed, err := s.begin(w, t)
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, page.Login{Form: s.form(loginPath, sealed), ClientName: t.Request.Name})
	return nil
}

// loginFailed shows the login page again. When the transaction expires does not
// change.
func (s *Server) loginFailed(w http.ResponseWriter, r *http.Request, status int, t transaction, p page.Login) error {
	if len(t.Login) > auth.MaxLoginBytes {
		t.Login = ""
	}
	sealed, err := s.hide(t)
	if err != nil {
		return err
	}
	p.Form, p.ClientName, p.LoginIdentifier = s.form(loginPath, sealed), t.Request.Name, t.Login
	s.show(w, r, status, p)
	return nil
}

// login handles the form of the login page. The check of the password counts
// the attempt and does not reveal why it failed.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	f, t, done, err := s.step(w, r, false)
	if done || err != nil {
		return err
	}
	t.Login = f[page.FieldLogin]
	account, quota, err := s.deps.Auth.Login(r.Context(), auth.Login{
		Identifier: t.Login, Password: contracts.Secret(f[page.FieldPassword]), Address: s.origin(r),
	})
	failed := failureOf(err)
	switch kind := fault.KindOf(err); {
	case err == nil:
		t.Account = account
		return s.showConsent(w, r, t)
	case kind == fault.Unauthenticated, kind == fault.Invalid: // wrong, or empty
		return s.loginFailed(w, r, http.StatusForbidden, t, page.Login{Refused: page.WrongCredentials})
	case kind == fault.RateLimited:
		failed.headers(w)
		return s.loginFailed(w, r, failed.status, t, page.Login{Refused: page.TooManyAttempts, Wait: quota.Wait})
	case failed.status == http.StatusServiceUnavailable:
		s.logFailure(w, r, failed, err)
		failed.headers(w)
		return s.loginFailed(w, r, failed.status, t, page.Login{Refused: page.LoginUnavailable})
	}
	return err
}
