package oauth_test

import (
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
	"preismon/query/oauth"
)

// bare returns a server without NATS: nothing before a consent needs it.
func bare(t testing.TB) *oauth.Server {
	cfg := oauth.Defaults()
	cfg.BaseURL, cfg.Key = "https://prices.example.test", contracts.Secret(strings.Repeat("k", 32))
	nothing := struct{ jetstream.JetStream }{}
	_, key, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	keys := must.Get(auth.NewKeyring(key))(t)
	revoked := must.Get(auth.NewRevokedTokens(auth.RevocationDefaults(), nothing, slog.New(slog.DiscardHandler), time.Now))(t)
	tc := auth.ThrottleDefaults()
	tc.Reads.Requests = 1 << 40
	throttle := must.Get(auth.NewThrottle(tc, time.Now))(t)
	ac := auth.Defaults()
	ac.Issuer = cfg.BaseURL
	ac.Hash = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	authority := must.Get(auth.New(ac, auth.Deps{Keys: keys, Accounts: newAccounts(), Revocations: revoked, Throttle: throttle, Now: time.Now}))(t)
	s := must.Get(oauth.New(cfg, oauth.Deps{
		Auth: authority, Accounts: newAccounts(), Documents: &documents{}, JetStream: nothing,
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}))(t)
	return s
}

func bareClient(t testing.TB, s *oauth.Server) string {
	r := httptest.NewRequest("POST", "/oauth/register", strings.NewReader(`{"redirect_uris":["http://127.0.0.1/callback","https://app.example/cb"]}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reply{w.Result(), w.Body.String()}.json(t)["client_id"].(string)
}

// Whatever the request, the browser stays here or goes to the client's own
// redirect URI, with the issuer (checklist 12, 15).
func FuzzAuthorize(f *testing.F) {
	s := bare(f)
	a := &app{id: bareClient(f, s), redirect: callback, scope: "mcp", verifier: strings.Repeat("v", 43)}
	f.Add(a.query().Encode())
	f.Add(a.query("code_challenge", "").Encode())
	f.Add(a.query("redirect_uri", "http://127.0.0.1:1@evil.example/callback").Encode())
	f.Add(a.query("redirect_uri", "//evil.example").Encode())
	f.Add(a.query("client_id", "https://evil.example/c").Encode())
	f.Add("client_id=" + a.id + "&redirect_uri=http://127.0.0.1:9/callback%3F&state=%00%ff&scope=x")
	f.Add("&&==;%")
	f.Fuzz(func(t *testing.T, query string) {
		for _, q := range []string{query, "client_id=" + a.id + "&" + query} {
			r := httptest.NewRequest("GET", "/oauth/authorize", nil)
			r.URL.RawQuery = q
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			to := w.Header().Get("Location")
			switch {
			case w.Code == 200 && to == "", w.Code >= 400 && w.Code < 500 && to == "":
				continue
			case w.Code != http.StatusSeeOther:
				t.Fatalf("%d to %q for %q", w.Code, to, q)
			}
			u := must.Get(url.Parse(to))(t)
			host, path := u.Hostname(), u.Path
			local := u.Scheme == "http" && host == "127.0.0.1" && path == "/callback"
			web := u.Scheme == "https" && u.Host == "app.example" && path == "/cb"
			if u.User != nil || !local && !web || u.Query().Get("iss") != "https://prices.example.test" || u.Query().Get("error") == "" || u.Query().Has("code") {
				t.Fatalf("to %q for %q", to, q)
			}
		}
	})
}

// Only a text that we issued is the id of a client.
func FuzzClientID(f *testing.F) {
	s := bare(f)
	id := bareClient(f, s)
	f.Add(id)
	f.Add(id[:len(id)-1])
	f.Add(id + "=")
	f.Add("c1..")
	f.Add("c1.e30.")
	f.Add(strings.Replace(id, "c1.", "c1.\n", 1))
	f.Fuzz(func(t *testing.T, given string) {
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(url.Values{"client_id": {given}, "grant_type": {"x"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		want := http.StatusUnauthorized
		if given == id || strings.HasPrefix(given, "https://") && len(given) <= 4<<10 { // documents are not fetched here
			want = http.StatusBadRequest
		}
		if w.Code != want {
			t.Errorf("%d for %q", w.Code, given)
		}
	})
}
