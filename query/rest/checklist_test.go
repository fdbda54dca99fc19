package rest_test

import (
	"bufio"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
	"preismon/query/rest"
)

// What a caller sees follows from its account only: nothing else in a request
// or a token names a mandate or an area.
func TestOnlyTheAccountDecides(t *testing.T) {
	t.Parallel()
	l := readMatrix(t)
	want := l.get("/v1/items", l.token(whole))
	now := l.clock.now()
	claims := jwt.MapClaims{
		"iss": baseURL, "aud": auth.RESTAudience, "sub": "1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": "a",
		"mandate": "2", "scope": "*", "permissions": []string{"sites"}, "admin": true, "orders": []int{801},
	}
	rich := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	rich.Header["typ"], rich.Header["kid"] = "at+jwt", auth.KeyID(l.key.Public().(ed25519.PublicKey))
	token := must.Get(rich.SignedString(l.key))(t)
	r := l.request("GET", "/v1/items", token, strings.NewReader(`{"mandate":"2","account":"4"}`))
	for _, name := range []string{"X-Mandate", "X-Mandate-Id", "X-Tenant-Id", "X-Account", "X-User", "X-Forwarded-User", "X-Original-URL", "X-Rewrite-URL"} {
		r.Header.Set(name, "2")
	}
	if got := l.do(r); got.StatusCode != 200 || string(got.body) != string(want.body) {
		t.Errorf("%d %s, want %s", got.StatusCode, got.body, want.body)
	}
	for _, args := range []string{"mandate=2", "mandateId=2", "tenant=2", "account=4", "scope=*"} {
		l.get("/v1/items?"+args, token).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
}

// A token outside its header is no token, and neither tokens nor passwords show
// in an answer or in the log.
func TestSecretsStayWhereTheyAre(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	const wrong = "a wrong password of mine"
	var answers []answer
	for _, path := range readRoutes {
		for _, name := range []string{"access_token", "token", "authorization", "bearer"} {
			a := s.get(path+"?"+name+"="+token, "")
			a.wantProblem(t, 401, "AUTH_TOKEN_INVALID")
			answers = append(answers, a)
			with := s.get(path+"?"+name+"="+token, token)
			with.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
			answers = append(answers, with)
		}
		r := s.request("GET", path, "", nil)
		r.AddCookie(&http.Cookie{Name: "Authorization", Value: "Bearer " + token})
		a := s.do(r)
		a.wantProblem(t, 401, "AUTH_TOKEN_INVALID")
		answers = append(answers, a)
	}
	answers = append(answers, s.login("reader@example.com", wrong), s.postLogin(`{"loginIdentifier":"`+wrong+`","password":`), s.logout(token), s.logout(token),
		s.get("/v1/"+token, token), s.postLogin(`{"`+wrong+`":1}`))
	for _, a := range answers {
		if strings.Contains(string(a.body), token) {
			t.Errorf("%s %s: the token shows in %s", a.Request.Method, a.Request.URL.Path, a.body)
		}
		if cookies := a.Header.Values("Set-Cookie"); len(cookies) > 0 {
			t.Errorf("%s: sets %q", a.Request.URL.Path, cookies)
		}
	}
	s.Close()
	for _, secret := range []string{token, wrong, password, "reader@example.com"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// Whatever text a parameter has, it is compared literally: never read as SQL,
// as a pattern or as an escape.
func TestTextsAreTexts(t *testing.T) {
	t.Parallel()
	l := serveFields(t)
	nasty := []string{
		`'`, `"`, `\`, `\\`, `\N`, `\'`, `' OR 1=1 --`, `'; DROP TABLE observations; --`, `%`, `_`, `*`, `{x:String}`, `{merchant:String}`, "`", `$1`, `?`, `:a`,
		`<script>`, `NULL`, `null`, `0x00`, `\x00`, `\t`, `ü`, `日本`, `💶`, "a\u202eb", `()`, `[]`, `a,b`, `a;b`, `a&b=c`, `a+b`, strings.Repeat("x", 256),
	}
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for i, text := range nasty {
		id, value := fmt.Sprint(100+i), "'"+quote.Replace(text)+"'"
		l.exec("INSERT INTO items VALUES (" + id + ", '', '', '', '', 'x', " + value + ", '', 1)")
		l.queue(l.row("numbers(1)", map[string]string{"item": "toUInt64(" + id + ")", "merchant": value, "manufacturer": value, "seq": fmt.Sprintf("toUInt64(%d)", i+1)}))
	}
	l.send(1)
	l.scope(1, 2, fmt.Sprintf("SELECT 100 + number AS item, 'shop.example' AS site, [7] AS orders FROM numbers(%d)", len(nasty)))
	for i, text := range nasty {
		value := url.QueryEscape(text)
		rows := l.rows(t, "includeIdentity=true&merchant="+value+"&manufacturer="+value+"&brand="+value)
		if len(rows) != 1 || rows[0]["merchant"] != text || rows[0]["brand"] != text {
			t.Errorf("%q: %v", text, rows)
		}
		for n, name := range []string{"site", "itemId", "orderId", "ean", "pzn", "asinLocale", "capturedFrom", "capturedTo", "timezone", "sort", "cursor", "limit", "isPrime", "coverageState"} {
			if every := effort.Often(3, 1); i%every != n%every {
				continue
			}
			a := l.plain("/v1/results?"+name+"="+value, l.token(1))
			if name == "site" && contracts.SiteKey(text).Valid() {
				if a.StatusCode != 200 || found(t, a) != 0 {
					t.Errorf("site=%q: %d %s", text, a.StatusCode, a.body)
				}
				continue
			}
			a.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		}
	}
}

// talk sends text unchanged and returns what comes back until the server
// closes.
func (s *surface) talk(t *testing.T, text string) (reply string, took time.Duration) {
	t.Helper()
	began := time.Now()
	conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
	defer conn.Close()
	must.Do(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err := io.WriteString(conn, text)
	if err == nil {
		var all []byte
		all, err = io.ReadAll(bufio.NewReader(conn))
		reply = string(all)
	}
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
		t.Errorf("the connection is still open after %s", time.Since(began))
	}
	return reply, time.Since(began)
}

// A client that sends nothing, or an endless head, or a body drop by drop,
// loses its connection; the size of a head is limited.
func TestSlowAndLargeRequests(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) {
		set.rest.Stall, set.server = time.Second, func(srv *http.Server) { srv.ReadHeaderTimeout = time.Second }
	})
	t.Run("group", func(t *testing.T) {
		t.Run("slow head", func(t *testing.T) {
			t.Parallel()
			if reply, _ := s.talk(t, "GET /v1/sites HTTP/1.1\r\nHost: x\r\nX-Slow: "); strings.Contains(reply, " 200 ") {
				t.Error(reply)
			}
		})
		t.Run("no head", func(t *testing.T) {
			t.Parallel()
			s.talk(t, "")
		})
		t.Run("slow body", func(t *testing.T) {
			t.Parallel()
			reply, _ := s.talk(t, "POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
			if strings.Contains(reply, " 200 ") || strings.Contains(reply, "timeout") {
				t.Error(reply)
			}
		})
		t.Run("slow body of a read", func(t *testing.T) {
			t.Parallel()
			if reply, _ := s.talk(t, "GET /v1/sites HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+s.token(reader)+"\r\nContent-Length: 100\r\n\r\n{"); strings.Contains(reply, " 200 ") {
				t.Error(reply)
			}
		})
		t.Run("large head", func(t *testing.T) {
			t.Parallel()
			reply, _ := s.talk(t, "GET /v1/sites HTTP/1.1\r\nHost: x\r\nX-Large: "+strings.Repeat("a", 80<<10)+"\r\n\r\n")
			if reply != "" && !strings.HasPrefix(reply, "HTTP/1.1 431 ") {
				t.Errorf("%.100q", reply)
			}
		})
		t.Run("two lengths", func(t *testing.T) {
			t.Parallel()
			reply, _ := s.talk(t, "POST /v1/auth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello")
			if !strings.HasPrefix(reply, "HTTP/1.1 400 ") {
				t.Errorf("%.100q", reply)
			}
		})
	})
	if srv := rest.NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler)); srv.MaxHeaderBytes != 64<<10 || srv.ReadHeaderTimeout != 10*time.Second || srv.IdleTimeout != 2*time.Minute || srv.WriteTimeout != 0 {
		t.Errorf("%+v", srv)
	}
}

// Nothing for operators is served by the public listener.
func TestNoBackDoors(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/vars", "/metrics", "/readyz", "/livez", "/admin", "/.git/config", "/v1/debug", "/v1/../debug/pprof/", "/%2e%2e/metrics"} {
		s.plain(path, s.token(reader)).is(t, 404)
	}
	a := s.get("/healthz", "")
	for _, name := range []string{"Server", "X-Powered-By", "Via"} {
		if a.Header.Get(name) != "" {
			t.Errorf("%s: %q", name, a.Header.Get(name))
		}
	}
}

// The IETF fields say what the X- ones say, and CORS lets pages read both:
// RATE-01, RATE-02a.
func TestRateLimitFields(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.throttle.Reads = auth.Rate{Requests: 5, Per: 90 * time.Second}
		set.rest.AllowedOrigins = []string{"https://app.example.test"}
	})
	s.clock.freeze(time.Unix(1_790_000_000, 500_000_000))
	token := s.token(reader)
	for left := 4; left >= -1; left-- {
		r := s.request("GET", "/v1/sites", token, nil)
		r.Header.Set("Origin", "https://app.example.test")
		a := s.do(r)
		got := map[string]string{}
		for name := range a.Header {
			if strings.Contains(strings.ToLower(name), "ratelimit") {
				got[strings.ToLower(name)] = strings.Join(a.Header[name], "|")
			}
		}
		want := map[string]string{
			"x-ratelimit-limit": "5", "x-ratelimit-remaining": fmt.Sprint(max(left, 0)), "x-ratelimit-reset": "1790000091",
			"ratelimit-policy": `"reads";q=5;w=90`, "ratelimit": fmt.Sprintf(`"reads";r=%d;t=90`, max(left, 0)),
		}
		equals.Checkf(t, want, got, "%d", a.StatusCode)
		if (left < 0) != (a.StatusCode == 429) || left < 0 && a.Header.Get("Retry-After") != "90" {
			t.Errorf("%d left: %d, Retry-After %q", left, a.StatusCode, a.Header.Get("Retry-After"))
		}
		exposed := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers"))
		for name := range want {
			if !strings.Contains(exposed, name) {
				t.Errorf("%s is not exposed: %s", name, exposed)
			}
		}
	}
	for path, policy := range map[string]string{"/v1/sites": "anonymous", "/v1/nothing": "anonymous"} {
		if got := s.get(path, "").Header["Ratelimit"]; len(got) != 1 || !strings.HasPrefix(got[0], `"`+policy+`";r=`) {
			t.Errorf("%s: RateLimit %q", path, got)
		}
	}
	for _, path := range []string{"/v1/results", "/v1/results/stream"} {
		h := s.get(path, s.token(narrow)).Header
		if p, q := h.Get("RateLimit-Policy"), h.Get("RateLimit"); !strings.HasSuffix(p, `;w=90, "heavy";q=8;qu="concurrent-requests"`) || !strings.HasSuffix(q, `;t=90, "heavy";r=7`) {
			t.Errorf("%s: RateLimit-Policy %q, RateLimit %q", path, p, q)
		}
	}
	if got := s.login("nobody@example.com", "x").Header["Ratelimit-Policy"]; len(got) != 1 || got[0] != `"address";q=10;w=60` {
		t.Errorf("RateLimit-Policy %q", got)
	}
	if got := s.get("/healthz", "").Header["Ratelimit"]; got != nil { // RATE-02b
		t.Errorf("outside the contract: %q", got)
	}
}
