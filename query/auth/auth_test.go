package auth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

type object = map[string]any

// forge signs any header and claims.
func forge(t *testing.T, key ed25519.PrivateKey, header, claims any) string {
	t.Helper()
	part := func(v any) string {
		if text, ok := v.(string); ok {
			return base64.RawURLEncoding.EncodeToString([]byte(text))
		}
		b := must.Get(json.Marshal(v))(t)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := part(header) + "." + part(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
}

func with(o object, name string, value any) object {
	o = maps.Clone(o)
	if value == nil {
		delete(o, name)
	} else {
		o[name] = value
	}
	return o
}

// One algorithm, one issuer, one audience, one type; nothing in the token
// decides how it is checked (RFC 8725). Every refusal is the same.
func TestVerifyRefuses(t *testing.T) {
	w := newWorld(t, nil)
	pub := w.key.Public().(ed25519.PublicKey)
	_, stranger, _ := ed25519.GenerateKey(rand.Reader)
	header := object{"alg": "EdDSA", "typ": "at+jwt", "kid": auth.KeyID(pub)}
	now := w.now().Unix()
	claims := object{"iss": issuer, "aud": auth.RESTAudience, "sub": "7", "iat": now, "nbf": now, "exp": now + 100, "jti": "a"}
	good := forge(t, w.key, header, claims)
	if got, err := w.Verify(good, auth.RESTAudience); err != nil || got.Account != 7 || got.ID != "a" || got.Principal().Account != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, ok := range map[string]string{
		"aud as a list of one": forge(t, w.key, header, with(claims, "aud", []string{auth.RESTAudience})),
		"no nbf":               forge(t, w.key, header, with(claims, "nbf", nil)),
		"no jti":               forge(t, w.key, header, with(claims, "jti", nil)), // AUTH-L3
		"a clock that is late": forge(t, w.key, header, with(with(claims, "nbf", now+30), "iat", now+30)),
	} {
		if _, err := w.Verify(ok, auth.RESTAudience); err != nil {
			t.Errorf("%s: %v", name, errors.Unwrap(err))
		}
	}
	parts := strings.Split(good, ".")
	hs := func(header object) string {
		h, _ := json.Marshal(header)
		text := base64.RawURLEncoding.EncodeToString(h) + "." + parts[1]
		mac := hmac.New(sha256.New, pub)
		mac.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	none, _ := json.Marshal(with(header, "alg", "none"))
	raw, _ := json.Marshal(claims)
	var want string
	for name, bad := range map[string]string{
		"empty": "", "two parts": parts[0] + "." + parts[1], "four parts": good + ".", "no signature": parts[0] + "." + parts[1] + ".",
		"padding": parts[0] + "." + parts[1] + "." + parts[2] + "=", "blank": " " + good,
		"alg none":            base64.RawURLEncoding.EncodeToString(none) + "." + parts[1] + ".",
		"HS256 by public key": hs(with(header, "alg", "HS256")),
		"EdDSA by HMAC":       hs(header),
		"unknown key":         forge(t, stranger, with(header, "kid", auth.KeyID(stranger.Public().(ed25519.PublicKey))), claims),
		"other key, our kid":  forge(t, stranger, header, claims),
		"no kid":              forge(t, w.key, with(header, "kid", nil), claims),
		"typ JWT":             forge(t, w.key, with(header, "typ", "JWT"), claims),
		"typ refresh":         forge(t, w.key, with(header, "typ", "rt+jwt"), claims),
		"no typ":              forge(t, w.key, with(header, "typ", nil), claims),
		"jku":                 forge(t, w.key, with(header, "jku", "https://evil.test/keys"), claims),
		"x5u":                 forge(t, w.key, with(header, "x5u", "https://evil.test/keys"), claims),
		"jwk":                 forge(t, stranger, with(header, "jwk", object{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(stranger.Public().(ed25519.PublicKey))}), claims),
		"crit":                forge(t, w.key, with(header, "crit", []string{"exp"}), claims),
		"iss":                 forge(t, w.key, header, with(claims, "iss", issuer+"/")),
		"no iss":              forge(t, w.key, header, with(claims, "iss", nil)),
		"aud":                 forge(t, w.key, header, with(claims, "aud", issuer+"/mcp")),
		"two aud":             forge(t, w.key, header, with(claims, "aud", []string{auth.RESTAudience, "x"})),
		"no aud":              forge(t, w.key, header, with(claims, "aud", nil)),
		"no exp":              forge(t, w.key, header, with(claims, "exp", nil)),
		"exp over":            forge(t, w.key, header, with(claims, "exp", now-1)),
		"nbf far":             forge(t, w.key, header, with(claims, "nbf", now+90)),
		"iat far":             forge(t, w.key, header, with(claims, "iat", now+90)),
		"no iat":              forge(t, w.key, header, with(claims, "iat", nil)),
		"sub":                 forge(t, w.key, header, with(claims, "sub", "x")),
		"sub zero":            forge(t, w.key, header, with(claims, "sub", "0")),
		"no sub":              forge(t, w.key, header, with(claims, "sub", nil)),
		"claim twice":         forge(t, w.key, header, strings.TrimSuffix(string(raw), "}")+`,"sub":"8"}`),
		"claim twice by case": forge(t, w.key, header, strings.TrimSuffix(string(raw), "}")+`,"Sub":"8"}`),
		"header twice":        forge(t, w.key, `{"alg":"EdDSA","typ":"at+jwt","kid":"x","kid":"`+auth.KeyID(pub)+`"}`, claims),
		"claims twice":        forge(t, w.key, header, string(raw)+string(raw)),
		"claims no object":    forge(t, w.key, header, `["a"]`),
		"too large":           forge(t, w.key, header, with(claims, "x", strings.Repeat("a", 8<<10))),
	} {
		got, err := w.Verify(bad, auth.RESTAudience)
		var f *fault.Error
		if err == nil || !errors.As(err, &f) || f.Kind != fault.Unauthenticated || f.Code != "AUTH_TOKEN_INVALID" {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		if want == "" {
			want = f.Msg
		}
		if f.Msg != want {
			t.Errorf("%s: %q, others %q", name, f.Msg, want)
		}
	}
}

// TestSessions ends all tokens of a session at the same time, and no others
// (line 14 of the OAuth checklist).
func TestSessions(t *testing.T) {
	w := newWorld(t, nil)
	revoked := memory{}
	a := must.Get(auth.New(w.cfg, auth.Deps{Keys: keyring(t, w.key), Accounts: accounts{}, Revocations: revoked, Throttle: w.Throttle(), Now: w.now}))(t)
	issue := func(session string) string {
		issued, err := a.Issue(auth.Grant{
			Account: 7, Audience: "https://x/mcp", Lifetime: time.Hour, Scopes: []string{"mcp", "offline_access"}, Client: "c", Session: session,
		})
		must.Do(t, err)
		return issued.Token.Reveal()
	}
	first, second, other := issue("one"), issue("one"), issue("two")
	got := must.Get(a.Verify(first, "https://x/mcp"))(t)
	if !slices.Equal(got.Scopes, []string{"mcp", "offline_access"}) || got.Client != "c" || got.Session != "one" {
		t.Errorf("got %+v", got)
	}
	must.Do(t, a.RevokeSession(t.Context(), "one", w.now().Add(time.Hour)))
	must.Do(t, a.RevokeSession(t.Context(), "one", w.now().Add(time.Hour)))
	for _, token := range []string{first, second, issue("one")} {
		if _, err := a.Verify(token, "https://x/mcp"); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("a token of an ended session: %v", err)
		}
	}
	if _, err := a.Verify(other, "https://x/mcp"); err != nil {
		t.Errorf("a token of another session: %v", err)
	}
}

// memory keeps revoked ids.
type memory map[string]bool

func (m memory) Revoke(_ context.Context, id string, _ time.Time) error {
	if m[id] {
		return fault.New(fault.Unauthenticated, "", "revoked")
	}
	m[id] = true
	return nil
}

func (m memory) Revoked(id string) (bool, error) { return m[id], nil }

func keyring(t testing.TB, key ed25519.PrivateKey) *auth.Keyring {
	t.Helper()
	keys := must.Get(auth.NewKeyring(key))(t)
	return keys
}

func TestTokensExpire(t *testing.T) { // AUTH-S1a, AUTH-01b
	w := newWorld(t, nil)
	issued, lifetime, err := w.IssueREST(7)
	must.Do(t, err)
	if lifetime != 4*time.Hour || issued.Expires.Sub(w.now()).Round(time.Minute) != 4*time.Hour {
		t.Errorf("lives %s until %s", lifetime, issued.Expires)
	}
	if got := fmt.Sprintf("%v %+v %#v", issued, issued, issued); strings.Contains(got, issued.Token.Reveal()) {
		t.Error("a token shows when printed")
	}
	for _, c := range []struct {
		offset time.Duration
		ok     bool
	}{{0, true}, {4*time.Hour - 2*time.Second, true}, {4 * time.Hour, false}, {-30 * time.Second, true}, {-90 * time.Second, false}} {
		w.offset = c.offset
		if _, err := w.Verify(issued.Token.Reveal(), auth.RESTAudience); (err == nil) != c.ok {
			t.Errorf("%s after issue: %v", c.offset, err)
		}
	}
}

func login(a *auth.Authority, name, password string) (contracts.AccountID, error) {
	id, _, err := a.Login(context.Background(), auth.Login{Identifier: name, Password: contracts.Secret(password), Address: "192.0.2.1"})
	return id, err
}

func TestLogin(t *testing.T) {
	cfg := auth.Defaults()
	hash := must.Get(cfg.HashPassword("open sesame"))(t)
	w := newWorld(t, accounts{
		"a@example.com": {Account: 7, PasswordHash: hash}, "admin@example.com": {Account: 8, PasswordHash: hash, Administrative: true},
		"gone@example.com": {Account: 9, PasswordHash: hash, Disabled: true},
		"dear@example.com": {Account: 10, PasswordHash: "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQxMjM0NTY$RdescudvJCsgt3ub+b+dWRWJTmaaJObG"},
		"odd@example.com":  {Account: 11, PasswordHash: "$argon2id$v=19$m=19456,t=0,p=0$c29tZXNhbHQxMjM0NTY$RdescudvJCsgt3ub+b+dWRWJTmaaJObG"},
	})
	if id, err := login(w.Authority, " A@Example.com", "open sesame"); err != nil || id != 7 {
		t.Errorf("%d, %v", id, err)
	}
	var texts []string
	for name, pw := range map[string]string{"a@example.com": "wrong", "nobody@example.com": "open sesame", "admin@example.com": "open sesame", "gone@example.com": "open sesame"} { // AUTH-04, AUTH-T7e
		before := w.Hashes()
		_, err := login(w.Authority, name, pw)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Unauthenticated || f.Code != auth.CodeCredentialsInvalid {
			t.Errorf("%s: %v", name, err)
		}
		equals.Is(t, 1, w.Hashes()-before, "%s hashes", name)
		texts = append(texts, err.Error())
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("refusals differ: %q", texts)
	}
	for _, name := range []string{"dear@example.com", "odd@example.com"} { // a hash of this form would stop or crash the node
		if _, err := login(w.Authority, name, "x"); fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	before := w.Hashes()
	if _, err := login(w.Authority, "a@example.com", strings.Repeat("x", 1025)); fault.KindOf(err) != fault.Invalid || w.Hashes() != before {
		t.Errorf("a long password: %v", err)
	}
}

func TestHashesAreBounded(t *testing.T) {
	w := newWorld(t, nil)
	w.cfg.HashesAtOnce, w.cfg.HashWait = 1, 30*time.Millisecond
	w.cfg.Hash = argon2id.Params{Memory: 64 << 10, Iterations: 8, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	a := w.with(t, w.key, nil)
	errs := make(chan error, 6)
	for range 6 {
		go func() { _, err := login(a, "x@example.com", "x"); errs <- err }()
	}
	kinds := map[fault.Kind]int{}
	for range 6 {
		err := <-errs
		kinds[fault.KindOf(err)]++
		var f *fault.Error
		if errors.As(err, &f) && f.Kind == fault.Unavailable && f.RetryAfter <= 0 {
			t.Error("no time to wait is given")
		}
	}
	if kinds[fault.Unauthenticated] < 1 || kinds[fault.Unavailable] < 1 || kinds[fault.Unauthenticated]+kinds[fault.Unavailable] != 6 {
		t.Errorf("%v", kinds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.cfg.HashWait = time.Hour
	a = w.with(t, w.key, nil)
	go func() { _, _ = login(a, "x@example.com", "x") }()
	for a.Hashes() == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, _, err := a.Login(ctx, auth.Login{Identifier: "x", Password: "x", Address: "a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("waits although nobody waits for it: %v", err)
	}
}

func TestConfigNamesAllFaults(t *testing.T) {
	err := auth.Config{Issuer: "https://x/"}.Validate()
	for _, name := range []string{"issuer", "token lifetime", "hashes at once", "hash wait", "memory", "parallelism"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v lacks %s", err, name)
		}
	}
	if _, err := auth.New(auth.Config{}, auth.Deps{}); err == nil {
		t.Error("a wrong configuration is taken")
	}
	if err := (auth.ThrottleConfig{}).Validate(); err == nil {
		t.Error("an empty throttle is taken")
	}
	if err := (auth.RevocationConfig{}).Validate(); err == nil {
		t.Error("empty revocations are taken")
	}
}

func FuzzVerify(f *testing.F) {
	w := newWorld(f, nil)
	issued, _, err := w.IssueREST(7)
	must.Do(f, err)
	good := issued.Token.Reveal()
	f.Add(good)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, raw string) {
		if _, err := w.Verify(raw, auth.RESTAudience); err == nil && raw != good {
			t.Errorf("taken: %q", raw)
		}
	})
}
