package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
	"preismon/query/auth"
)

// writtenRun is everything that a run wrote, and the secrets that must not be
// in it.
type writtenRun struct {
	t       *testing.T
	up      *upProcess
	secrets map[string]string // by what they belong to
	texts   []writtenText
}

type writtenText struct {
	place string
	text  []byte
}

func (w *writtenRun) wrote(place, text string) {
	w.texts = append(w.texts, writtenText{place, []byte(text)})
}

// find returns the places that contain a secret, in any form it may have been
// written in. A key of several lines is searched for line by line.
func (w *writtenRun) find(secret string) map[string]bool {
	w.t.Helper()
	found := map[string]bool{}
	for _, line := range strings.Split(secret, "\n") {
		if len(line) < 8 {
			w.t.Fatalf("a secret of %d characters", len(line))
		}
		quoted, _ := json.Marshal(line)
		forms := []string{
			line, string(bytes.Trim(quoted, `"`)), url.QueryEscape(line), url.PathEscape(line), url.UserPassword("", line).String()[1:],
			base64.StdEncoding.EncodeToString([]byte(line)), base64.RawURLEncoding.EncodeToString([]byte(line)),
		}
		slices.Sort(forms)
		for _, form := range slices.Compact(forms) {
			for _, t := range w.texts {
				if bytes.Contains(t.text, []byte(form)) {
					found[t.place] = true
				}
			}
		}
	}
	return found
}

// account publishes an account that may read everything of its mandate.
func (w *writtenRun) account(login, password string) {
	w.t.Helper()
	hash := must.Get(auth.Defaults().HashPassword(contracts.Secret(password)))(w.t)
	m, catalogue, _ := aMarket(w.t, market.Config{Seed: 3, Scale: 0.02}, time.Hour)
	first := m.Accounts()[0].LoginIdentifier
	for _, e := range catalogue {
		if a, ok := e.Data.(*contracts.Account); ok && a.LoginIdentifier == first {
			a.LoginIdentifier, a.PasswordHash = login, hash
		}
	}
	var text bytes.Buffer
	ndjson(w.t, &text, catalogue)
	out, errs, code := preismon(w.t, nil, "ingest", "--data-dir", w.up.DataDir, file(w.t, "catalogue.ndjson", text.String()))
	if code != 0 {
		w.t.Fatalf("ingest: %d %s%s", code, out, errs)
	}
	must.Eventually(w.t, time.Minute, "the account is there", func() bool {
		return number(w.t, w.up.tables(), "SELECT count() FROM preismon.accounts WHERE login_identifier = '"+login+"'") > 0
	})
}

// exchange sends a request; an answer that is an error is recorded.
func (w *writtenRun) exchange(c *http.Client, r *http.Request) (*http.Response, string) {
	w.t.Helper()
	resp := must.Get(c.Do(r))(w.t)
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode >= 400 {
		var head bytes.Buffer
		_ = resp.Header.Write(&head)
		w.wrote("answer to "+r.Method+" "+r.URL.Path[:min(len(r.URL.Path), 20)], head.String()+string(body))
	}
	return resp, string(body)
}

func (w *writtenRun) get(path, authorization, id string) string {
	w.t.Helper()
	r := must.Get(http.NewRequest(http.MethodGet, w.up.URL+path, nil))(w.t)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	if id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	_, body := w.exchange(http.DefaultClient, r)
	return body
}

func (w *writtenRun) post(path, body string, status int) map[string]any {
	w.t.Helper()
	media := "application/json"
	if !strings.HasPrefix(body, "{") {
		media = "application/x-www-form-urlencoded"
	}
	r := must.Get(http.NewRequest(http.MethodPost, w.up.URL+path, strings.NewReader(body)))(w.t)
	r.Header.Set("Content-Type", media)
	resp, text := w.exchange(http.DefaultClient, r)
	if resp.StatusCode != status {
		w.t.Fatalf("POST %s: %d %s, want %d", path, resp.StatusCode, text, status)
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		w.t.Fatalf("POST %s: %s", path, text)
	}
	return answer
}

var (
	transactionField = regexp.MustCompile(`name="transaction" value="([^"]*)"`)
	formAction       = regexp.MustCompile(`action="([^"]*)"`)
)

// agent obtains tokens as an agent does, with a wrong password on the way, uses
// them, renews them, and reuses codes and tokens that are used up.
func (w *writtenRun) agent(login, password, wrong string) {
	w.t.Helper()
	const redirect = "http://127.0.0.1/callback"
	verifier := strings.Repeat("verifier-", 6)
	client := w.post("/oauth/register", `{"client_name":"an agent","redirect_uris":["`+redirect+`"],"application_type":"native"}`, 201)["client_id"].(string)
	jar := must.Get(cookiejar.New(nil))(w.t)
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	sum := sha256.Sum256([]byte(verifier))
	r := must.Get(http.NewRequest(http.MethodGet, w.up.URL+"/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"a-state-of-the-client"}, "scope": {"mcp offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {w.up.URL + "/mcp"},
	}.Encode(), nil))(w.t)
	_, page := w.exchange(browser, r)
	submit := func(fields url.Values) *http.Response {
		w.t.Helper()
		hidden, action := transactionField.FindStringSubmatch(page), formAction.FindStringSubmatch(page)
		if hidden == nil || action == nil {
			w.t.Fatalf("no form: %s", page)
		}
		w.secrets["transaction of the login page"] = hidden[1]
		fields.Set("transaction", hidden[1])
		at := must.Get(url.Parse(w.up.URL + "/oauth/authorize"))(w.t)
		at = must.Get(at.Parse(action[1]))(w.t)
		r := must.Get(http.NewRequest(http.MethodPost, at.String(), strings.NewReader(fields.Encode())))(w.t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		resp, text := w.exchange(browser, r)
		page = text
		return resp
	}
	submit(url.Values{"loginIdentifier": {login}, "password": {wrong}})
	submit(url.Values{"loginIdentifier": {login}, "password": {password}})
	to, err := submit(url.Values{"decision": {"allow"}}).Location()
	if err != nil {
		w.t.Fatalf("no redirect: %s", page)
	}
	code := to.Query().Get("code")
	exchange := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {client}, "redirect_uri": {redirect}, "code_verifier": {verifier}, "resource": {w.up.URL + "/mcp"},
	}
	got := w.post("/oauth/token", exchange.Encode(), 200)
	access, refresh := got["access_token"].(string), got["refresh_token"].(string)
	call := must.Get(http.NewRequest(http.MethodPost, w.up.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sites","arguments":{}}}`)))(w.t)
	call.Header.Set("Authorization", "Bearer "+access)
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept", "application/json, text/event-stream")
	if resp, text := w.exchange(http.DefaultClient, call); resp.StatusCode != 200 {
		w.t.Errorf("MCP: %d %s", resp.StatusCode, text)
	}
	renewed := w.post("/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {client}}.Encode(), 200)
	w.post("/oauth/token", exchange.Encode(), 400)
	w.post("/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh + "x"}, "client_id": {client}}.Encode(), 400)
	for name, secret := range map[string]string{
		"code": code, "verifier": verifier, "access token": access, "refresh token": refresh,
		"renewed access token": renewed["access_token"].(string), "renewed refresh token": renewed["refresh_token"].(string),
	} {
		w.secrets[name] = secret
	}
}

// queryLog records what ClickHouse keeps of statements.
func (w *writtenRun) queryLog(db *sql.DB) {
	w.t.Helper()
	must.Get(db.Exec("SYSTEM FLUSH LOGS"))(w.t)
	rows, err := db.Query("SELECT concat(query, '\n', exception, '\n', toString(Settings), '\n', log_comment) FROM system.query_log")
	if err != nil {
		w.t.Logf("ClickHouse keeps no query log: %v", err)
		return
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var text string
		must.Do(w.t, rows.Scan(&text))
		w.wrote("query log of ClickHouse", text)
		n++
	}
	if err := rows.Err(); err != nil || n == 0 {
		w.t.Errorf("%d statements in the query log: %v", n, err)
	}
}

// readFolder reads every file of the data folder: logs, streams, buckets.
func (w *writtenRun) readFolder() {
	w.t.Helper()
	must.Do(w.t, filepath.WalkDir(w.up.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(w.up.DataDir, path)
		w.wrote(name, string(text))
		return err
	}))
}
