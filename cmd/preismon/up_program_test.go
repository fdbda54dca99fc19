package main

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/embedded/cachedir"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
)

// programScript is a clickhouse program for machines that have none: it is
// called like the real one, and runs this test's library as the server. It adds
// the user of the library's own session, and holds open what its parent would.
const programScript = `#!/bin/sh
[ "$2" = --version ] && { echo 'ClickHouse server version 26.7.3.1 (official build).'; exit; }
config=${2#--config-file=}
dir=$(dirname "$config")
port() { sed -n "s:.*<$1>\([0-9]*\)</.*:\1:p" "$config"; }
sed -i 's:<users>:<users><default><no_password/><networks><ip>127.0.0.1</ip></networks><profile>session</profile><grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default>:' "$dir/users.xml"
touch "$dir/program-was-here"
mkfifo "$dir/held"
exec 3<> "$dir/held"
rm "$dir/held"
serve='SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT sleepEachRow(1) FROM numbers(100000000) SETTINGS function_sleep_max_microseconds_per_block=0, max_block_size=1, max_execution_time=0 FORMAT Null'
exec env PREISMON_CLICKHOUSE_CHILD="{\"library\":\"LIBRARY\",\"args\":[\"clickhouse\",\"--path=$dir/data\",\"--config-file=$config\",\"--log-level=information\",\"--listen_host=127.0.0.1\",\"--tcp_port=$(port tcp_port)\",\"--http_port=$(port http_port)\",\"-q\",\"$serve\"]}" 'BINARY'
`

// TestUpWithProgram: where the library is hidden, as on systems that have none,
// `up` starts and answers with a clickhouse program from PATH.
func TestUpWithProgram(t *testing.T) {
	t.Parallel()
	library := must.Get((&embedded.Library{Logger: slog.New(slog.DiscardHandler)}).Ensure(t.Context()))(t)
	binary := must.Get(os.Executable())(t)
	bin := t.TempDir()
	script := strings.NewReplacer("LIBRARY", library, "BINARY", binary).Replace(programScript)
	must.Do(t, os.WriteFile(filepath.Join(bin, "clickhouse"), []byte(script), 0o755))
	hidden := t.TempDir()
	u := launchUp(t, []string{"PATH=" + bin + ":/usr/bin:/bin", cachedir.Variable + "=" + hidden, "npm_config_registry=http://127.0.0.1:1"})
	u.awaitReady()
	if _, err := os.Stat(filepath.Join(u.DataDir, "clickhouse", "program-was-here")); err != nil {
		t.Error(err)
	}
	if page := must.Get(caller.Read(http.Get(u.URL + "/docs/runbook")))(t); !strings.Contains(string(page.Text), `<h2 id="preismonlag">`) {
		t.Errorf("%s: %.500s", page.Status, page.Text)
	}
	if tried, err := filepath.Glob(filepath.Join(hidden, "chdb-*")); err != nil || len(tried) > 0 {
		t.Errorf("a library was looked for: %v, %v", tried, err)
	}
}

// TestUpWithoutClickHouse: where neither the library nor a clickhouse program
// is available, one sentence explains how to get one. What else can be wrong
// with the library is tested in deploy/embedded.
func TestUpWithoutClickHouse(t *testing.T) {
	t.Parallel()
	hidden := []string{"PATH=" + t.TempDir(), cachedir.Variable + "=" + t.TempDir()}
	out, errs, code := preismon(t, hidden, append([]string{"up", "--data-dir", t.TempDir()}, anywhere...)...)
	says(t, out, errs, code, exitFailed, "not in the cache", "npm is not on PATH", "install npm", "get a clickhouse program with `curl https://clickhouse.com/ | sh` and move it into a folder of PATH")
	sentence(t, errs)
}
