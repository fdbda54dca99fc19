package oauth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/query/oauth/page"
)

// request is a client's request, after it has been checked.
type request struct {
	Client    string   `json:"c"`
	Name      string   `json:"n,omitempty"`
	Vouched   string   `json:"v,omitempty"`
	Redirect  string   `json:"r"`
	State     string   `json:"s,omitempty"`
	Challenge string   `json:"h"`
	Resource  bool     `json:"o,omitempty"` // whether the client named it
	Scopes    []string `json:"p"`
}

// transaction is an authorization in progress. It is kept, sealed, in the form
// of its page and nowhere else. It belongs to one browser, which has a cookie
// with the secret that Browser is the digest of: the form is worthless in
// another browser. Logging in, or out again, creates a new cookie.
type transaction struct {
	ID      string              `json:"i"`
	Browser string              `json:"b"`
	Ends    int64               `json:"e"` // Unix seconds
	Account contracts.AccountID `json:"a,omitempty"`
	Login   string              `json:"l,omitempty"` // as typed
	Request request             `json:"q"`
}

const (
	cookieName = "preismon-oauth-"
	maxCookies = 8 // authorizations in progress in one browser
)

// random returns n unguessable bytes as text.
func random(n int) string {
	raw := make([]byte, n)
	rand.Read(raw) // never fails
	return b64.EncodeToString(raw)
}

// begin creates or renews a transaction for the browser that gets the answer,
// and returns the sealed text for its form.
func (s *Server) begin(w http.ResponseWriter, t transaction) (string, error) {
	if t.ID == "" {
		t.ID = random(16)
	}
	secret := random(16)
	t.Browser = digest([]byte(secret))
	t.Ends = s.now().Add(s.cfg.PageLifetime).Unix()
	http.SetCookie(w, s.cookie(t.ID, secret, s.cfg.PageLifetime))
	return s.hide(t)
}

// hide seals a transaction without changing it.
func (s *Server) hide(t transaction) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return b64.EncodeToString(s.keys.sealPage(text)), nil
}

// resume opens the transaction of a form, or returns why it cannot: it is not
// ours, has expired, or belongs to another browser.
func (s *Server) resume(r *http.Request, sealed string) (t transaction, why page.Reason) {
	raw, ok := decode(sealed)
	if !ok {
		return t, page.Expired
	}
	text, err := s.keys.openPage(raw)
	if err != nil || json.Unmarshal(text, &t) != nil || s.now().Unix() >= t.Ends {
		return t, page.Expired
	}
	c, err := r.Cookie(s.cookieName(t.ID))
	switch {
	case err != nil:
		return t, page.OtherBrowser
	case subtle.ConstantTimeCompare([]byte(digest([]byte(c.Value))), []byte(t.Browser)) != 1: // a page of an earlier step
		return t, page.Expired
	}
	return t, ""
}

// finish removes the cookie of a transaction.
func (s *Server) finish(w http.ResponseWriter, id string) {
	http.SetCookie(w, s.cookie(id, "", -time.Second))
}

func (s *Server) secure() bool { return s.base.Scheme == "https" }

func (s *Server) cookieName(id string) string {
	if s.secure() {
		return "__Host-" + cookieName + id
	}
	return cookieName + id
}

func (s *Server) cookie(id, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(id), Value: value, Path: "/", MaxAge: int(age / time.Second),
		Secure: s.secure(), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

var transactionID = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)

// tidy removes the oldest cookies when a browser has started too many
// authorizations: they would become too long for its header. Browsers send
// cookies in the order in which they were created.
func (s *Server) tidy(w http.ResponseWriter, r *http.Request) {
	var ids []string
	for _, c := range r.Cookies() {
		if id, ours := strings.CutPrefix(c.Name, s.cookieName("")); ours && transactionID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids[:max(0, len(ids)-maxCookies+1)] {
		s.finish(w, id)
	}
}
