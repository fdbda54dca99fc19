package rest_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

func TestLogout(t *testing.T) {
	s := serve(t)
	one, two := s.token(reader), s.token(reader)
	a := s.logout(one)
	if a.StatusCode != 200 || string(a.body) != `{"revoked":true}` { // AUTH-L0a, AUTH-L1, AUTH-T6
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	s.get("/v1/sites", one).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.logout(one).wantProblem(t, 401, "AUTH_TOKEN_INVALID") // AUTH-L2
	if a := s.get("/v1/sites", two); a.StatusCode != 200 {  // AUTH-05
		t.Errorf("another token: %d", a.StatusCode)
	}
	for _, bad := range []string{"", "garbage"} { // AUTH-L0c
		s.logout(bad).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	}
	r := s.request("POST", "/v1/auth/logout", "", nil)
	r.Header.Set("Authorization", "Basic cmVhZGVyOng=")
	s.do(r).wantProblem(t, 401, "AUTH_SCHEME_NOT_ALLOWED")

	mcp := must.Get(s.auth.Issue(auth.Grant{Account: reader, Audience: baseURL + "/mcp", Lifetime: time.Hour}))(t)
	s.logout(mcp.Token.Reveal()).wantProblem(t, 400, "MVP_VALIDATION_ERROR") // AUTH-L0b, AUTH-06
	if _, err := s.auth.Verify(mcp.Token.Reveal(), baseURL+"/mcp"); err != nil {
		t.Errorf("the MCP token is gone: %v", err)
	}
	s.clock.advance(5 * time.Hour)
	s.logout(two).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	s.logout(mcp.Token.Reveal()).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
}

func TestLogoutOfATokenWithoutID(t *testing.T) { // AUTH-L3
	s := serve(t)
	now := s.clock.now()
	plain := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": baseURL, "aud": auth.RESTAudience, "sub": "1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	plain.Header["typ"] = "at+jwt"
	plain.Header["kid"] = auth.KeyID(s.key.Public().(ed25519.PublicKey))
	token := must.Get(plain.SignedString(s.key))(t)
	for range 2 {
		if a := s.logout(token); a.StatusCode != 200 || string(a.body) != `{"revoked":false}` {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		s.get("/v1/sites", token).want(t, 200)
	}
	s.clock.advance(time.Hour + time.Second)
	s.get("/v1/sites", token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
}

func TestLogoutWithoutAStore(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	s.revoked.breakDown(errors.New("disk is full"), nil)
	s.logout(token).wantProblem(t, 500, "LOGOUT_REVOCATION_FAILED") // AUTH-L0d, ERR-11
	if a := s.get("/v1/sites", token); a.StatusCode != 200 {        // AUTH-L4
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	away := &fault.Error{Kind: fault.Unavailable, Msg: "Tokens cannot be checked.", RetryAfter: 5 * time.Second}
	s.revoked.breakDown(errors.New("disk is full"), away)
	s.logout(token).wantProblem(t, 500, "LOGOUT_REVOCATION_FAILED")
	a := s.get("/v1/sites", token)
	a.wantProblem(t, 503, "SERVICE_UNAVAILABLE") // fails closed
	if a.Header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	wantQuota(t, a)
	if !strings.Contains(s.log.String(), "disk is full") {
		t.Error("the cause is not in the log")
	}
}
