package main

import (
	"strings"
	"testing"

	"preismon/deploy/embedded"
)

// TestUpWithoutClickHouse: where neither the library nor a clickhouse program
// can be had, one sentence says how to get one.
func TestUpWithoutClickHouse(t *testing.T) {
	t.Parallel()
	hidden := []string{"PATH=" + t.TempDir(), embedded.CacheVariable + "=" + t.TempDir()}
	_, said, code := preismon(t, hidden, "up", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	if code != 1 || !strings.Contains(last, "get a clickhouse program with `curl https://clickhouse.com/ | sh` and move it into a folder of PATH") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
