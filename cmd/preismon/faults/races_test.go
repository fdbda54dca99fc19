package faults_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

// raceFaults are those of requests that use a code or a refresh token at the
// same time. What they find is a finding in a composition, too: nothing that
// another fault breaks permits a second redemption.
var raceFaults = []fault{
	{name: "codes-raced", do: func(w *world, _ *rand.Rand) error { return w.codesRaced(false) }},
	{name: "codes-raced-and-killed", do: func(w *world, _ *rand.Rand) error { return w.codesRaced(true) }},
	{name: "refresh-raced", do: func(w *world, _ *rand.Rand) error { return w.refreshRaced() }},
}

// racers is how many requests are sent at once.
const racers = 50

// app is a client of the authorization server, with a browser in which a
// customer is about to log in.
type app struct {
	w    *world
	id   string
	http *http.Client
}

const (
	callback = "http://127.0.0.1:7777/callback"
	verifier = "a-verifier-of-one-of-the-clients-long-enough"
	baseURL  = "http://127.0.0.1:1" // of all query nodes
)

var (
	transactionField = regexp.MustCompile(`name="transaction" value="([^"]*)"`)
	formAction       = regexp.MustCompile(`action="([^"]*)"`)
)

func (w *world) app() (*app, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	a := &app{w: w, http: &http.Client{Timeout: 30 * time.Second, Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: racers}}}
	a.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	status, text, err := a.post("/oauth/register", "application/json", `{"client_name":"Racer","redirect_uris":["`+callback+`"],"application_type":"native"}`)
	var answer struct {
		ID string `json:"client_id"`
	}
	if err != nil || status != http.StatusCreated || json.Unmarshal(text, &answer) != nil {
		return nil, fmt.Errorf("register: %d %s %w", status, text, err)
	}
	a.id = answer.ID
	return a, nil
}

func (a *app) post(path, media, body string) (status int, text []byte, err error) {
	resp, err := a.http.Post(a.w.query.URL()+path, media, strings.NewReader(body))
	return read(resp, err)
}

// status is of an answer, with its text.
func status(a caller.Answer, err error) (int, []byte, error) {
	if err != nil {
		return 0, nil, err
	}
	return a.StatusCode, a.Text, nil
}

func read(resp *http.Response, err error) (int, []byte, error) {
	return status(caller.Read(resp, err))
}

// code logs in, consents and returns the code.
func (a *app) code() (string, error) {
	sum := sha256.Sum256([]byte(verifier))
	status, text, err := read(a.http.Get(a.w.query.URL() + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {a.id}, "redirect_uri": {callback}, "state": {"s"}, "scope": {"mcp offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {baseURL + "/mcp"},
	}.Encode()))
	if err != nil || status != http.StatusOK {
		return "", fmt.Errorf("authorize: %d %s %w", status, text, err)
	}
	resp, err := a.submit(text, url.Values{"loginIdentifier": {login(1)}, "password": {password}})
	status, text, err = read(resp, err)
	if err != nil || status != http.StatusOK {
		return "", fmt.Errorf("log in: %d %s %w", status, text, err)
	}
	resp, err = a.submit(text, url.Values{"decision": {"allow"}})
	if _, _, err := read(resp, err); err != nil {
		return "", fmt.Errorf("consent: %w", err)
	}
	to, err := resp.Location()
	if err != nil {
		return "", fmt.Errorf("consent: %s: %w", resp.Status, err)
	}
	code := to.Query().Get("code")
	if code == "" {
		return "", fmt.Errorf("consent: %s", to)
	}
	return code, nil
}

// submit submits the form of a page.
func (a *app) submit(page []byte, fields url.Values) (*http.Response, error) {
	action, transaction := formAction.FindSubmatch(page), transactionField.FindSubmatch(page)
	if action == nil || transaction == nil {
		return nil, fmt.Errorf("a page without a form: %s", page)
	}
	fields.Set("transaction", string(transaction[1]))
	req, err := http.NewRequest(http.MethodPost, a.w.query.URL()+string(action[1]), strings.NewReader(fields.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	return a.http.Do(req)
}

// tokenPair is the answer to a token request.
type tokenPair struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// token requests tokens; refused is a final refusal, an error is not.
func (a *app) token(form url.Values) (got tokenPair, refused bool, err error) {
	form.Set("client_id", a.id)
	status, text, err := a.post("/oauth/token", "application/x-www-form-urlencoded", form.Encode())
	switch {
	case err != nil:
		return got, false, err
	case status == http.StatusBadRequest && strings.Contains(string(text), `"invalid_grant"`):
		return got, true, nil
	case status != http.StatusOK:
		return got, false, fmt.Errorf("%d %s", status, text)
	}
	return got, false, json.Unmarshal(text, &got)
}

func (a *app) redeem(code string) (tokenPair, bool, error) {
	return a.token(url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}, "resource": {baseURL + "/mcp"}})
}

func (a *app) refresh(token string) (tokenPair, bool, error) {
	return a.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// race makes many requests at once, and returns the token pairs that were
// issued and the number of refusals.
func race(ask func() (tokenPair, bool, error)) (won []tokenPair, refused int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range racers {
		all.Go(func() {
			got, no, err := ask()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case no:
				refused++
			case err == nil:
				won = append(won, got)
			}
		})
	}
	all.Wait()
	return won, refused
}

// accepted reports whether an access token is accepted, by a small request.
func (a *app) accepted(access string) (bool, error) {
	status, text, err := status(caller.Client{HTTP: a.http, URL: a.w.query.URL(), Token: access}.CallTool(context.Background(), "list_sites", "{}"))
	switch {
	case err != nil:
		return false, err
	case status == http.StatusOK:
		return true, nil
	case status == http.StatusUnauthorized:
		return false, nil
	}
	return false, fmt.Errorf("%d %s", status, text)
}

// ended waits until a session is over: neither of its tokens is accepted, then
// or later.
func (a *app) ended(of tokenPair, why string) error {
	over := func() bool {
		alive, err := a.accepted(of.Access)
		return err == nil && !alive
	}
	if err := must.Until(patience, "the access token is refused, "+why, over); err != nil {
		return err
	}
	if _, err := retried(func() (bool, error) {
		_, no, err := a.refresh(of.Refresh)
		if err == nil && !no {
			a.w.finding(wrong("I8", "a refresh token is good whose session is over, %s", why))
		}
		return no, err
	}); err != nil {
		return err
	}
	if alive, err := a.accepted(of.Access); err == nil && alive {
		a.w.finding(wrong("I8", "an access token is good again whose session is over, %s", why))
	}
	return nil
}

// codesRaced lets many redeem one code, then again after the node runs again,
// which may be killed after it has spent the code and before it has answered.
// At most one of all gets tokens, and these are revoked: the second one to come
// may be the owner.
func (w *world) codesRaced(killed bool) error {
	a, err := retried(w.app)
	if err != nil {
		return err
	}
	defer a.http.CloseIdleConnections()
	code, err := retried(a.code)
	if err != nil {
		return err
	}
	met := make(chan struct{})
	if killed {
		spent := proxy.Rule{Pattern: []byte("HPUB $KV.preismon_oauth.grant."), Left: -1, Answer: &proxy.Rule{Then: proxy.Hold}}
		spent.Answer.Act = func() { w.query.Signal(syscall.SIGKILL); close(met) }
		w.queryStreams.Set(proxy.Up, spent)
	}
	won, refused := race(func() (tokenPair, bool, error) { return a.redeem(code) })
	if killed {
		w.query.Kill()
		w.queryStreams.Heal()
		if err := restart(w.query); err != nil {
			return err
		}
	}
	late, no := race(func() (tokenPair, bool, error) { return a.redeem(code) })
	won, refused = append(won, late...), refused+no
	if len(won) > 1 {
		w.finding(wrong("I8", "%d of %d redeemed one code, node killed: %v", len(won), 2*racers, killed))
	}
	select {
	case <-met:
	default:
		if killed || len(won) == 0 {
			return fmt.Errorf("nobody spent the code: node killed: %v", killed)
		}
	}
	if refused == 0 {
		return errors.New("nobody was refused")
	}
	if len(won) == 1 {
		return a.ended(won[0], "for its code was used twice")
	}
	return nil
}

// refreshRaced lets many refresh a session while one of them ends it. What any
// of them received is then worthless.
func (w *world) refreshRaced() error {
	a, err := retried(w.app)
	if err != nil {
		return err
	}
	defer a.http.CloseIdleConnections()
	first, err := retried(func() (tokenPair, error) {
		code, err := a.code()
		if err != nil {
			return tokenPair{}, err
		}
		got, no, err := a.redeem(code)
		if no {
			err = errors.New("the code was refused")
		}
		return got, err
	})
	if err != nil {
		return err
	}
	revoked, refreshed := make(chan error, 1), make(chan struct{}, racers)
	go func() {
		select {
		case <-refreshed: // the first; others are under way
		case <-time.After(patience):
		}
		_, err := retried(func() (bool, error) {
			form := url.Values{"token": {first.Refresh}, "client_id": {a.id}}
			status, text, err := a.post("/oauth/revoke", "application/x-www-form-urlencoded", form.Encode())
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("revoke: %d %s", status, text)
			}
			return true, err
		})
		revoked <- err
	}()
	won, _ := race(func() (tokenPair, bool, error) {
		got, no, err := a.refresh(first.Refresh)
		if err == nil && !no {
			refreshed <- struct{}{}
		}
		return got, no, err
	})
	if err := <-revoked; err != nil {
		return err
	}
	if len(won) == 0 {
		return errors.New("nobody refreshed the session")
	}
	for _, got := range append(won, first) {
		if err := a.ended(got, "for it was revoked"); err != nil {
			return err
		}
	}
	return nil
}
