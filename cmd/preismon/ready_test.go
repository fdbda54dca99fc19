package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver"
)

// TestProjectorReady: /readyz of a projector tells what ClickHouse says to it.
func TestProjectorReady(t *testing.T) {
	t.Parallel()
	server, nats := testserver.ClickHouse(t), testserver.NATS(t)
	if out, errs, code := preismon(t, nil, "migrate", "--clickhouse-dsn", server.AdminDSN); code != 0 {
		t.Fatalf("migrate: exit code %d: %s%s", code, out, errs)
	}
	wrong, err := url.Parse(server.ProjectorDSN)
	must(t, err)
	wrong.User = url.UserPassword(wrong.User.Username(), "hush-hush")
	for _, c := range []struct {
		name, dsn string
		ready     bool
		words     []string
	}{
		{"all is well", server.ProjectorDSN, true, []string{`"tables":"ok"`}},
		{"wrong password", wrong.String(), false, []string{`"tables":`, "Authentication failed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRole(t, "projector", "--nats-url", nats, "--clickhouse-dsn", c.dsn, "--admin-listen", "127.0.0.1:0")
			client := &api{t: t, url: "http://" + r.admin, http: http.DefaultClient}
			var status int
			var body []byte
			eventually(t, time.Minute, "/readyz says so", func() bool {
				status, body = client.get("/readyz", nil)
				return (status == http.StatusOK) == c.ready && strings.Contains(string(body), c.words[0])
			})
			for _, w := range c.words {
				if !strings.Contains(string(body), w) {
					t.Errorf("%d %s does not say %q", status, body, w)
				}
			}
			if strings.Contains(string(body), "hush-hush") {
				t.Errorf("the password is shown: %s", body)
			}
			r.terminate()
		})
	}
}
