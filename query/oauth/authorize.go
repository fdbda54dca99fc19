package oauth

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"preismon/contracts/fault"
)

const methodS256 = "S256"

// challengeForm is the form of an S256 challenge (RFC 7636, section 4.2).
var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// authorize starts an authorization: it checks the client's request and shows
// the login page. An error in the client or its redirect URI is shown to the
// person. Any other error is sent to the client, but only if the redirect URI
// stays on the person's own computer: no one has verified who owns another
// address, and a deliberately wrong request would turn a link to us into one to
// that address, with no page of ours in between (RFC 9700, section 4.11.2).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) error {
	if err := s.count(r); err != nil {
		return err
	}
	if len(r.URL.RawQuery) > maxQueryBytes {
		return refuse(codeInvalidRequest, "The request is too long.")
	}
	f, twice, err := parseForm(r.URL.RawQuery)
	if err != nil {
		return err
	}
	c, err := s.requestingClient(r, f)
	if err != nil {
		return err
	}
	req := request{Client: c.id, Name: cmp.Or(c.name, hostOf(f["redirect_uri"])), Vouched: c.host, Redirect: f["redirect_uri"], State: f["state"]}
	if err := s.complete(&req, f, twice); err != nil {
		if onTheWeb(req.Redirect) {
			return err
		}
		s.answer(w, req, errorAnswer(err))
		return nil
	}
	s.tidy(w, r)
	return s.showLogin(w, r, transaction{Request: req})
}

// requestingClient finds the client and makes sure that its redirect URI may be
// answered.
func (s *Server) requestingClient(r *http.Request, f form) (client, error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if f[name] == "" {
			return client{}, refuse(codeInvalidRequest, "%s: missing, or given more than once.", name)
		}
	}
	c, err := s.findClient(r.Context(), f["client_id"])
	if err != nil {
		return c, err
	}
	if !c.allowed(f["redirect_uri"], s.cfg.Schemes) {
		return c, refuse(codeInvalidRedirect, "redirect_uri: not one of this client.")
	}
	return c, nil
}

// complete checks the rest of a request. Its errors are meant for the client.
func (s *Server) complete(req *request, f form, twice []string) error {
	if len(twice) > 0 {
		return errTwice
	}
	switch {
	case f["request"] != "":
		return refuse(codeRequestUnsupported, "Request objects are not supported.")
	case f["request_uri"] != "":
		return refuse(codeURIUnsupported, "Request objects are not supported.")
	case f["response_type"] == "":
		return refuse(codeInvalidRequest, "response_type: missing.")
	case f["response_type"] != "code":
		return refuse(codeUnsupportedResponse, "response_type: code is the only one.")
	case f["response_mode"] != "" && f["response_mode"] != "query":
		return refuse(codeInvalidRequest, "response_mode: query is the only one.")
	case f["code_challenge_method"] != methodS256: // missing means plain (RFC 7636)
		return refuse(codeInvalidRequest, "code_challenge_method: must be S256.")
	case !challengeForm.MatchString(f["code_challenge"]):
		return refuse(codeInvalidRequest, "code_challenge: missing or not that of S256.")
	}
	if err := s.checkResource(f["resource"]); err != nil {
		return err
	}
	scopes, err := scopesOf(f["scope"])
	if err != nil {
		return err
	}
	if err := checkPrompt(f["prompt"]); err != nil {
		return err
	}
	req.Challenge, req.Resource, req.Scopes = f["code_challenge"], f["resource"] != "", scopes
	return nil
}

// checkResource refuses tokens for anything but our resource (RFC 8707). A
// client that names no resource means ours; one that names several, separated
// by blanks, must name ours each time.
func (s *Server) checkResource(given string) error {
	for one := range strings.FieldsSeq(given) {
		if !s.isResource(one) {
			return refuse(codeInvalidTarget, "resource: the only one is %s.", s.resource)
		}
	}
	return nil
}

// isResource reports whether a URI is that of the resource. The case of scheme
// and host does not matter, nor does the port that the scheme has by default
// (RFC 3986, section 6.2).
func (s *Server) isResource(uri string) bool {
	given, err := url.Parse(uri)
	if err != nil || given.Fragment != "" {
		return false
	}
	ours, err := url.Parse(s.resource)
	return err == nil && normal(given) == normal(ours)
}

// normal returns a URL as a browser writes it, up to its path.
func normal(u *url.URL) string {
	n := *u // its scheme was lowered when it was parsed
	n.Host = strings.ToLower(n.Host)
	switch n.Scheme {
	case "https":
		n.Host = strings.TrimSuffix(n.Host, ":443")
	case "http":
		n.Host = strings.TrimSuffix(n.Host, ":80")
	}
	return n.String()
}

// scopesOf parses a list of scopes; an empty one means mcp.
func scopesOf(text string) ([]string, error) {
	if text == "" {
		return []string{ScopeMCP}, nil
	}
	var scopes []string
	for scope := range strings.SplitSeq(text, " ") {
		if scope != ScopeMCP && scope != ScopeOffline {
			return nil, refuse(codeInvalidScope, "scope: the scopes are mcp and offline_access.")
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	if !slices.Contains(scopes, ScopeMCP) {
		return nil, refuse(codeInvalidScope, "scope: mcp is required.")
	}
	slices.Sort(scopes)
	return scopes, nil
}

// checkPrompt refuses to proceed without the person: both pages are always
// shown, so every value but none is satisfied.
func checkPrompt(prompt string) error {
	values := strings.Fields(prompt)
	switch {
	case !slices.Contains(values, "none"):
		return nil
	case len(values) > 1:
		return refuse(codeInvalidRequest, "prompt: none with another value.")
	}
	return refuse(codeLoginRequired, "A person has to log in.")
}

// errorAnswer returns the parameters of an error for the client (RFC 6749,
// section 4.1.2.1).
func errorAnswer(err error) url.Values {
	f := failureOf(err)
	return url.Values{"error": {f.code}, "error_description": {f.text}}
}

// answer sends the browser to the client, with the state of the request and our
// issuer (RFC 9207). 303: the browser must not send the form again there.
func (s *Server) answer(w http.ResponseWriter, req request, values url.Values) {
	values.Set("iss", s.cfg.BaseURL)
	if req.State != "" {
		values.Set("state", req.State)
	}
	w.Header().Set("Location", answerAt(req.Redirect, values))
	w.WriteHeader(http.StatusSeeOther)
}

// sameSite refuses a form that was posted by a page of another site.
func (s *Server) sameSite(r *http.Request) error {
	if err := s.csrf.Check(r); err != nil {
		return &fault.Error{Kind: fault.Invalid, Code: codeInvalidRequest, Msg: "This form was not sent by our own page.", Err: errors.Unwrap(err)}
	}
	return nil
}
