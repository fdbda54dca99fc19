package main

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// TestSecretsStaySecret: after a run with logins, failed logins, agents, wrong
// passwords of servers and broken requests, nothing that the run wrote contains
// a secret: standard output and error, logs of the servers, streams and buckets
// of NATS, the query log of ClickHouse, metrics, profiles, error answers. The
// files that exist to hold a secret contain only their own.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const password, wrong, storeSecret = "correct-horse-8841", "battery-staple-2297", "S3cret/of+the=store"
	place := url.URL{Scheme: "s3", User: url.UserPassword("KEY", storeSecret), Host: "127.0.0.1:1", Path: "/bucket", RawQuery: "tls=false"}
	u := launchUp(t, []string{"PREISMON_ARCHIVE=" + place.String()}, "--log-level", "debug", "--logins-per-minute", "1000")
	u.awaitReady()
	run := &writtenRun{t: t, up: u, secrets: map[string]string{"password": password, "wrong password": wrong, "secret of the object store": storeSecret}}
	run.account("me@secrets.example", password)

	// Requests of people and programs, right and wrong.
	token := run.post("/v1/auth/token", `{"loginIdentifier":"me@secrets.example","password":"`+password+`"}`, 200)["accessToken"].(string)
	run.secrets["REST token"] = token
	for body, status := range map[string]int{
		`{"loginIdentifier":"me@secrets.example","password":"` + wrong + `"}`:   401,
		`{"loginIdentifier":"nobody","password":"` + wrong + `"}`:               401,
		`{"loginIdentifier":"me@secrets.example","password":"` + password:       400,
		`{"loginIdentifier":"me@secrets.example","password":["` + wrong + `"]}`: 400,
	} {
		run.post("/v1/auth/token", body, status)
	}
	for _, path := range []string{"/v1/sites?access_token=" + token, "/v1/sites?token=" + token, "/" + token, "/mcp?access_token=" + token} {
		run.get(path, "", "")
	}
	run.get("/v1/sites", "Bearer "+token, "")
	run.get("/v1/sites", "Bearer "+token[:len(token)-4]+"AAAA", "")
	run.get("/v1/sites", "Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+password)), "")
	run.agent("me@secrets.example", password, wrong)

	// The credentials of the servers.
	r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	for name, address := range map[string]string{"administrator of ClickHouse": r.AdminDSN, "projector's user": r.ProjectorDSN, "query node's user": r.QueryDSN, "NATS": r.NATSURL} {
		at := must.Get(url.Parse(address))(t)
		run.secrets[name], _ = at.User.Password()
		if run.secrets[name] == "" {
			run.secrets[name] = at.User.Username()
		}
	}
	for name, file := range map[string]string{"cursor key": "cursor-key", "token key": "token-key.pem"} {
		text := must.Get(os.ReadFile(filepath.Join(u.DataDir, file)))(t)
		run.secrets[name] = strings.Join(slices.DeleteFunc(strings.Fields(string(text)), func(s string) bool {
			return strings.Contains("-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----", s)
		}), "\n")
	}
	changed := func(address string) string {
		at := must.Get(url.Parse(address))(t)
		at.User = url.UserPassword(at.User.Username(), wrong)
		return at.String()
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	must.Do(t, auth.EnsureKey(key))
	for _, args := range [][]string{
		{"migrate", "--clickhouse-dsn", changed(r.AdminDSN)},
		{"migrate", "--clickhouse-dsn", "clickhouse://x:" + wrong + "@[::1"},
		{"audit", "--clickhouse-dsn", changed(r.AdminDSN), "--nats-url", changed(r.NATSURL)},
		{"ingest", "--nats-url", changed(r.NATSURL), file(t, "none.ndjson", "")},
		{"projector", "--nats-url", changed(r.NATSURL), "--clickhouse-dsn", changed(r.ProjectorDSN), "--admin-listen", "127.0.0.1:0"},
		{"query", "--nats-url", changed(r.NATSURL), "--clickhouse-dsn", changed(r.QueryDSN), "--token-key", key, "--cursor-key", wrong, "--listen", "127.0.0.1:0"},
		{"query", "--nats-url", changed(r.NATSURL), "--clickhouse-dsn", changed(r.QueryDSN), "--token-key", key, "--cursor-key", strings.Repeat(wrong, 3), "--listen", "127.0.0.1:0", "--archive", "s3://" + wrong},
		{"query", "--print-config", "--nats-url", changed(r.NATSURL), "--clickhouse-dsn", changed(r.QueryDSN), "--token-key", key, "--cursor-key", strings.Repeat(wrong, 3)},
		{"login", "--url", u.URL, "--login", "me@secrets.example", "--password", wrong},
	} {
		out, errs, code := preismon(t, []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}, args...)
		if code == 0 && !slices.Contains(args, "--print-config") {
			t.Errorf("%v: exit code 0", args)
		}
		run.wrote(strings.Join(args[:1], " "), out+errs)
	}

	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
		run.wrote("admin"+path, string(must.Get(caller.Read(http.Get(u.AdminURL+path)))(t).Text))
	}
	run.queryLog(u.tables())
	// A text that is logged on purpose is found: the search works.
	const planted = "planted-secret-5513"
	run.get("/v1/sites", "Bearer "+token, planted)
	u.interrupt()
	equals.Is(t, 0, u.wait(), "exit code")
	run.wrote("standard output of up", u.stdout.String())
	run.wrote("standard error of up", u.stderr.String())
	run.readFolder()

	for name, secret := range run.secrets {
		for place := range run.find(secret) {
			if !slices.Contains(homesOfSecrets[place], name) {
				t.Errorf("%s stands in %s", name, place)
			}
		}
	}
	if found := run.find(planted); !found["standard error of up"] {
		t.Errorf("a planted secret is found in %v only", found)
	}
	if found := run.find(run.secrets["query node's user"]); !found[filepath.Join("clickhouse", "passwords.json")] {
		t.Error("the password of a file that holds it is not found")
	}
	t.Logf("%d secrets, %d texts", len(run.secrets), len(run.texts))
}

// homesOfSecrets are the files that exist to hold secrets, readable by their
// owner only.
var homesOfSecrets = map[string][]string{
	"cursor-key":    {"cursor key"},
	"token-key.pem": {"token key"},
	filepath.Join("clickhouse", "passwords.json"): {"administrator of ClickHouse", "projector's user", "query node's user"},
	filepath.Join("nats", "passwords.json"):       {"NATS"},
}
