package rest_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/fault"
	"preismon/deploy/testserver"
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

	mcp, err := s.auth.Issue(auth.Grant{Account: reader, Audience: baseURL + "/mcp", Lifetime: time.Hour})
	must(t, err)
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
	token, err := plain.SignedString(s.key)
	must(t, err)
	for range 2 {
		if a := s.logout(token); a.StatusCode != 200 || string(a.body) != `{"revoked":false}` {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		if a := s.get("/v1/sites", token); a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
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

// Two nodes share their revocations by NATS.
func TestLogoutOnAllNodes(t *testing.T) { // AUTH-L1, AUTH-L2, AUTH-S1b
	address := testserver.NATS(t)
	var key ed25519.PrivateKey
	node := func() *surface {
		nc, err := nats.Connect(address)
		must(t, err)
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		must(t, err)
		revoked, err := auth.NewRevokedTokens(auth.RevocationDefaults(), js, slog.New(slog.DiscardHandler), time.Now)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- revoked.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-ended })
		<-revoked.Ready()
		s := serve(t, func(set *settings) { set.revocations, set.key = revoked, key })
		key = s.key
		return s
	}
	one, two := node(), node()
	token := decode[tokenReply](t, one.login("reader@example.com", password)).AccessToken
	for _, s := range []*surface{one, two} {
		if a := s.get("/v1/sites", token); a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	if a := one.logout(token); a.StatusCode != 200 || string(a.body) != `{"revoked":true}` {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	one.get("/v1/sites", token).wantProblem(t, 401, "AUTH_TOKEN_INVALID") // the very next request
	one.logout(token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		a := two.get("/v1/sites", token)
		if a.StatusCode == 401 {
			break
		}
		if time.Since(start) > time.Second {
			t.Fatalf("the other node still answers with %d", a.StatusCode)
		}
	}
	two.logout(token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
}
