package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// TestQueryReadyWithoutArchive: /readyz of a query node reports which archive
// is unavailable, and the node stays ready; a node without a base URL of its
// own logs at its start what that means for tokens, and logs each request.
func TestQueryReadyWithoutArchive(t *testing.T) {
	t.Parallel()
	server := migrated.ClickHouse(t)
	key := filepath.Join(t.TempDir(), "token.pem")
	must.Do(t, auth.EnsureKey(key))
	first, second := filepath.Join(t.TempDir(), "first"), t.TempDir()
	must.Do(t, os.Mkdir(first, 0o700))
	r := startRole(t, "query", "--nats-url", testserver.NATS(t), "--clickhouse-dsn", server.QueryDSN, "--token-key", key,
		"--cursor-key", strings.Repeat("cursor key ", 4), "--archive", first, "--archive", second, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	says := func(words ...string) string {
		t.Helper()
		var status int
		var body string
		must.Eventually(t, time.Minute, "/readyz says "+strings.Join(words, ", "), func() bool {
			status, body = r.Ask("/readyz")
			for _, w := range words {
				if !strings.Contains(body, w) {
					return false
				}
			}
			return status == http.StatusOK
		})
		return body
	}
	says(`"ready":true`, `"archive 1":"ok"`, `"archive 2":"ok"`)
	must.Do(t, os.RemoveAll(first))
	must.Eventually(t, time.Minute, "the first archive is away", func() bool {
		return !strings.Contains(says(`"ready":true`, `"archive 1":"`, `"archive 2":"ok"`), `"archive 1":"ok"`)
	})
	if log := r.Written(); !strings.Contains(log, "no --base-url") {
		t.Errorf("it does not say what it means to have no address:\n%s", log)
	}
	requestIDInAllLogs(t, r, server)
	r.terminate()
}
