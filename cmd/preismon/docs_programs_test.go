package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

// programs are those that documents use but a machine need not have, each with
// a function that returns a script for the first folder of PATH. They are
// available only where everything is tested.
var programs = map[string]func(t *testing.T) (script string){
	"claude": func(t *testing.T) string { // without the variables and settings of the person who runs the tests
		return fmt.Sprintf("exec env -i PATH=\"$PATH\" HOME=%s DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 %s \"$@\"", t.TempDir(), tools.ClaudeCode(t))
	},
	"duckdb": func(t *testing.T) string {
		return fmt.Sprintf("exec %s %s \"$@\"", tools.Program(t, "node"), filepath.Join(tools.Scripts(t, filepath.Join("testdata", "duckdb")), "duckdb.mjs"))
	},
	"python3": func(t *testing.T) string { return fmt.Sprintf("exec %s \"$@\"", tools.Pandas(t)) },
	"Rscript": func(t *testing.T) string { return fmt.Sprintf("exec %s \"$@\"", tools.R(t)) },
}

// provide installs the programs that a block needs, and reports whether they
// are available.
func (r *reader) provide(t *testing.T, b docBlock) bool {
	t.Helper()
	for name, get := range programs {
		if !b.calls(name) {
			continue
		}
		if os.Getenv(effort.Variable) != "full" {
			return false
		}
		must.Do(t, os.WriteFile(filepath.Join(r.bin, name), []byte("#!/bin/sh\n"+get(t)+"\n"), 0o755))
	}
	return true
}

// calls reports whether a command of the block begins with the program.
func (b docBlock) calls(program string) bool {
	form := regexp.MustCompile(`(?m)(?:^|[|;&(])\s*` + program + ` `)
	for _, c := range b.commands {
		if form.MatchString(c.text) {
			return true
		}
	}
	return false
}

// sql sends a statement to the ClickHouse of the server, with a token where the
// documents omit one.
func (r *reader) sql(t *testing.T, statement string) {
	t.Helper()
	runtime := must.Get(embedded.ReadRuntime(r.up.DataDir))(t)
	anna := newDemoTest(t, r.up).account(t, "anna")
	c := r.up.client()
	c.t = t
	statement = strings.NewReplacer(localServer, r.up.URL, "Bearer …", "Bearer "+c.login(anna.LoginIdentifier, anna.Password).token).Replace(statement)
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, runtime.HTTPURL, strings.NewReader(statement)))(t)
	admin := must.Get(url.Parse(runtime.AdminDSN))(t)
	password, _ := admin.User.Password()
	request.SetBasicAuth(admin.User.Username(), password)
	resp := must.Get(http.DefaultClient.Do(request))(t)
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !strings.HasPrefix(string(answer), "demo-markt-de.example\t") {
		t.Errorf("%s\n%d %v: %s", statement, resp.StatusCode, err, answer)
	}
}
