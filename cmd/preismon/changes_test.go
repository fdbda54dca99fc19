package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestStateKeepsSelectors: a state file continues with the selectors that it began
// with. They may be repeated or left out; others are refused, and the file stays
// as it is.
func TestStateKeepsSelectors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[],"progress":{"token":"t1","upToDate":true}}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		name, text string // of the file; empty: there is none
		first      []string
		then       []string
		refused    bool
	}{
		{name: "others", first: []string{"--site", "a"}, then: []string{"--site", "b"}, refused: true},
		{name: "more", first: []string{"--site", "a"}, then: []string{"--site", "a", "--ean", "4006381333931"}, refused: true},
		{name: "after none", then: []string{"--site", "b"}, refused: true},
		{name: "the same", first: []string{"--site", "a"}, then: []string{"--site", "a"}},
		{name: "left out", first: []string{"--site", "a"}},
		{name: "a token of elsewhere", text: "t0\n", then: []string{"--site", "b"}},
	} {
		state := filepath.Join(t.TempDir(), "state")
		if c.text != "" {
			must.Do(t, os.WriteFile(state, []byte(c.text), 0o600))
		}
		changes := func(want int, selectors ...string) string {
			t.Helper()
			_, errs, code := inProcess(t, append([]string{"changes", "--state", state, "--url", server.URL, "--token", "any"}, selectors...)...)
			if code != want {
				t.Errorf("%s: exit code %d, want %d: %s", c.name, code, want, errs)
			}
			return errs
		}
		changes(0, c.first...)
		before := must.Get(os.ReadFile(state))(t)
		if !c.refused {
			changes(0, c.then...)
			changes(0)
		} else {
			says(t, "", changes(exitUsage, c.then...), exitUsage, exitUsage, "state: "+state+" continues ", "leave the selectors out, or remove the file")
		}
		after := must.Get(os.ReadFile(state))(t)
		if string(after) != string(before) {
			t.Errorf("%s: the file was %q and is %q", c.name, before, after)
		}
	}
}

// TestStateWithoutToken: an empty state file is what is left of one that was
// lost; to begin now would skip rows.
func TestStateWithoutToken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n"} {
		state := filepath.Join(t.TempDir(), "state")
		must.Do(t, os.WriteFile(state, []byte(text), 0o600))
		_, errs, code := inProcess(t, "changes", "--state", state, "--url", "http://127.0.0.1:1", "--token", "any")
		says(t, "", errs, code, exitUsage, "state: "+state+" holds no token", "remove it to begin again")
	}
}

// TestFollowersFail: where a follower has got to is not lost if it fails, unless
// there is nothing to go on with.
func TestFollowersFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since  []string
		status int
		code   string
		goesOn bool
	}{
		"expired":            {status: http.StatusUnauthorized, code: "AUTH_TOKEN_INVALID", goesOn: true},
		"expired, later":     {since: []string{"--since", "t0"}, status: http.StatusUnauthorized, code: "AUTH_TOKEN_INVALID", goesOn: true},
		"rebuilt":            {status: http.StatusGone, code: "CHANGES_HISTORY_REBUILT"},
		"expired from start": {since: []string{"--since", "t1"}, status: http.StatusUnauthorized, code: "AUTH_TOKEN_INVALID"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("since") == "t1" {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(c.status)
				fmt.Fprintf(w, `{"code":%q,"detail":"No."}`, c.code)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"itemId":"1"}],"progress":{"token":"t1","upToDate":true}}`)
		}))
		defer server.Close()
		out, errs, code := inProcess(t, append([]string{"changes", "--follow", "--url", server.URL, "--token", "any"}, c.since...)...)
		if code != exitFailed || strings.Contains(errs, "Continue with: preismon changes --since t1\n") != c.goesOn {
			t.Errorf("%s: exit code %d: %s%s", name, code, out, errs)
		}
	}
}

// TestChangesAsFiles: a file gets its name, and its token is kept, once it has all
// pages; if one fails there is no file, and the next run reads all of it again.
func TestChangesAsFiles(t *testing.T) {
	t.Parallel()
	broken := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const row = `{"itemId":"%d","site":"a","capturedAt":"2026-03-01T07:30:00.250Z","availability":"AVAILABLE","price":null,"priceMoney":null,"currencyCode":null,"merchant":null,"rowId":"A"}`
		switch r.URL.Query().Get("since") {
		case "":
			fmt.Fprint(w, `{"data":[],"progress":{"token":"t0","upToDate":true}}`)
		case "t0":
			fmt.Fprintf(w, `{"data":[`+row+`],"progress":{"token":"t1","upToDate":false}}`, 1)
		case "t1":
			if broken {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			fmt.Fprintf(w, `{"data":[`+row+`],"progress":{"token":"t2","upToDate":true}}`, 2)
		}
	}))
	defer server.Close()
	for _, form := range []string{"csv", "parquet", "ndjson"} {
		dir := t.TempDir()
		state, name := filepath.Join(dir, "state"), filepath.Join(dir, "rows."+form)
		changes := func(want int, token string, files ...string) {
			t.Helper()
			_, errs, code := inProcess(t, "changes", "--state", state, "-o", name, "--url", server.URL, "--token", "any")
			kept := must.Get(os.ReadFile(state))(t)
			if code != want || strings.Fields(string(kept))[0] != token {
				t.Errorf("%s: exit code %d, token %s, want %d, %s: %s", form, code, kept, want, token, errs)
			}
			entries := must.Get(os.ReadDir(dir))(t)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			if !slices.Equal(names, append(files, "state")) {
				t.Errorf("%s: there are %q", form, names)
			}
		}
		changes(0, "t0", "rows."+form) // a table without rows
		must.Do(t, os.Remove(name))
		broken = true
		changes(exitFailed, "t0")
		broken = false
		changes(0, "t2", "rows."+form)
		content := must.Get(os.ReadFile(name))(t)
		if records := strings.Count(string(content), "2026-03-01"); form != "parquet" && records != 2 {
			t.Errorf("%s: %d rows: %s", form, records, content)
		}
	}
	for _, args := range [][]string{{"--follow", "-o", "x.csv"}, {"--follow", "--format", "csv"}, {"--format", "csv", "-o", "x.parquet"}, {"-o", "x.xlsx"}} {
		if _, errs, code := inProcess(t, append([]string{"changes", "--url", server.URL, "--token", "any"}, args...)...); code != exitUsage || errs == "" {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
}
