package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"preismon/cmd/preismon/client"
	"preismon/deploy/testserver/must"
)

// documented returns the commands that a code belongs to.
func documented(t *testing.T, code int) []string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(docsFolder, "reference", "exit-codes.md")))(t)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.TrimSpace(cells[1]) != fmt.Sprint(code) {
			continue
		}
		var all []string
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[3], -1) {
			all = append(all, m[1])
		}
		return all
	}
	t.Fatalf("no code %d", code)
	return nil
}

// halfAnswers begins every list with a page, and refuses what comes next.
func halfAnswers() http.Handler {
	refuse := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"type":"about:blank","title":"Forbidden","status":403,"code":"FORBIDDEN","detail":"no more"}`)
	}
	lookups := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/capabilities"):
			fmt.Fprint(w, `{"coreFields":["itemId"],"includeGroups":{}}`)
		case strings.HasSuffix(r.URL.Path, "/history/download"):
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "half ")
		case r.URL.Path == "/ext/v1/lookup":
			if lookups++; lookups > 1 {
				refuse(w)
				return
			}
			fmt.Fprint(w, `{"data":[]}`)
		case strings.HasSuffix(r.URL.Path, "/stream"):
			w.Header().Set("Content-Type", "application/x-ndjson")
			fmt.Fprint(w, `{"itemId":"1","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}`+"\n"+`{"complete":false,"resume":"x"}`+"\n")
		case r.URL.Query().Get("cursor") != "":
			refuse(w)
		default:
			sendRows(w, r, "c", `{"itemId":"1","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}`)
		}
	})
}

// TestPartialAnswers: each command that is documented to exit with code 4 does
// so after a part of its answer was written.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	eans := strings.Repeat("4006381333931\n", 10_001)
	args := map[string][]string{
		"results": {}, "items": {}, "sites": {}, "orders": {}, "stats": {}, "position": {}, "site-status": {}, "order-status": {}, "overview": {}, "item-summary": {"11"},
		"movers": {"--since", "2026-10-01"}, "evidence": {"--item-id", "1", "--site", "a", "--captured-at", "2026-10-01T00:00:00Z"},
		"lookup": {"--file", "-"}, "history list": {"7"}, "history download": {"7", "-o", "-"},
	}
	for _, command := range documented(t, exitIncomplete) {
		if command == "stream" || command == "export" {
			continue // client_cuts_test.go
		}
		more, ok := args[command]
		if !ok {
			t.Errorf("nothing runs %s", command)
			continue
		}
		server := httptest.NewServer(halfAnswers())
		var out, errs bytes.Buffer
		all := slices.Concat(strings.Fields(command), more, []string{"--url", server.URL, "--token", "any"})
		if code := run(t.Context(), all, streams{strings.NewReader(eans), &out, &errs}); code != exitIncomplete {
			t.Errorf("%s: exit code %d\n%.300s\n%s", command, code, out.String(), errs.String())
		}
		server.Close()
	}
}

// TestSQLOfAPart: no statement is run over a part of the rows, and nothing was
// written.
func TestSQLOfAPart(t *testing.T) {
	t.Parallel()
	half, asked := halfAnswers(), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/stream"):
			if asked++; asked > 1 {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Length", "100000")
			sendRows(w, r, "", `{"itemId":"1","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}`)
		default:
			half.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"sql", "SELECT 1", "--url", server.URL, "--token", "any"}, streams{strings.NewReader(""), &out, &errs})
	if code != exitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "not all rows could be read, so the statement was not run; try again: ") || strings.Contains(errs.String(), ".part") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
}

// TestFoundAndRejected: the commands documented for codes 3 and 5 are those
// whose tests check the code.
func TestFoundAndRejected(t *testing.T) {
	for code, want := range map[int][]string{
		exitRejected: {"import", "ingest", "deadletters replay"},   // import_test.go, ingest_test.go, operate_test.go
		exitFound:    {"audit", "doctor", "trace", "backup drill"}, // operate_test.go, doctor_test.go, trace_event_test.go, backup_test.go
	} {
		if got := documented(t, code); !slices.Equal(got, want) {
			t.Errorf("%d: %v, tested are %v", code, got, want)
		}
	}
}

// TestFaultsOfBothKinds: values that cannot be read and values that make no
// sense are named in one refusal, each once, without anything that merely
// follows from them.
func TestFaultsOfBothKinds(t *testing.T) {
	t.Parallel()
	servers := []string{"--nats-url", "nats://h:4222", "--clickhouse-dsn", "clickhouse://u@h:9000/d"}
	keys := []string{"--token-key", "k.pem", "--cursor-key", strings.Repeat("k", 32)}
	for name, c := range map[string]struct {
		env  []string
		file string
		args []string
		want []string // the flags that are named, in any order
	}{
		"query": {
			env: []string{"PREISMON_SOFT_DEADLINE=zz"}, file: "admin-listen: nix\nmin-read-rate: much\nstop-dellay: 1s\n",
			args: slices.Concat([]string{"query", "--listen", "nonsense", "--log-level", "foo", "--trace-sample", "7"}, servers, keys),
			want: []string{"--soft-deadline", "--admin-listen", "--min-read-rate", `"stop-dellay" is not a flag`, "--listen", "--log-level", "--trace-sample"},
		},
		"projector": {
			env: []string{"PREISMON_KEEP_ROWS=1h"}, file: "audit-every: rarely\n",
			args: slices.Concat([]string{"projector", "--lease-ttl=soon", "--partition", "9", "--admin-listen", "nix", "stray"}, servers),
			want: []string{"--keep-rows", "--audit-every", "--lease-ttl", "--partition", "--admin-listen", "unexpected argument stray"},
		},
		"ingest": {
			env: []string{"PREISMON_TRACE_SAMPLE=9"}, file: "nats-ca: /nowhere\n",
			args: []string{"ingest", "--admin-listen", "nix", "--log-format", "prose", "--rejectz", "x", "--stray"},
			want: []string{"--trace-sample", "--nats-ca", "--admin-listen", "--log-format", "unknown flag --rejectz", "unknown flag --stray", "--nats-url, --data-dir: one"},
		},
		"up": {
			env: []string{"PREISMON_DEMO_SCALE=0", "PREISMON_SYNC_ALWAYS=perhaps"}, file: "hard-budget: long\nlisten: nonsense\n",
			args: []string{"up", "--reads-per-minute=-1", "--base-url", "prices"},
			want: []string{"--demo-scale", "--hard-budget", "--listen", "reads", "base url", `(from envar PREISMON_SYNC_ALWAYS="perhaps")`},
		},
		"no config file": { // what is missing may be in the file
			args: []string{"query", "--config", "/nowhere/c.yaml", "--listen", "nonsense"},
			want: []string{"/nowhere/c.yaml", "--listen"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := c.args
			if c.file != "" {
				args = append(args, "--config", file(t, "c.yaml", c.file))
			}
			_, errs, code := preismon(t, c.env, args...)
			for _, want := range c.want {
				if strings.Count(errs, "preismon: "+want) != 1 && strings.Count(errs, want) != 1 {
					t.Errorf("%q is not named once in\n%s", want, errs)
				}
			}
			if n := strings.Count(errs, "\n"); code != exitUsage || n != len(c.want)+1 || !strings.HasSuffix(errs, "\nSee `preismon "+c.args[0]+" --help`.\n") {
				t.Errorf("exit code %d, %d lines for %d faults:\n%s", code, n-1, len(c.want), errs)
			}
		})
	}
}

// TestFlagsOfParameters: a refusal of the API names parameters; each whose flag
// has another name is reported by that flag.
func TestFlagsOfParameters(t *testing.T) {
	for parameter, flag := range map[string]string{
		"ownMerchant": "--own-merchant", "ownSite": "--own-site", "rearmPercent": "--rearm-percent", "currencyCode": "--currency-code",
		"ean": "--ean", "site": "--site", "capturedFrom": "--from", "itemId": "--item-id", "latestObservationPerPair": "--latest-observation-per-pair", "globalScope": "--global-scope", "exportName": "--export-name",
	} {
		if got := flagOf()[parameter]; got != flag {
			t.Errorf("%s is %q, want %q", parameter, got, flag)
		}
	}
}

// TestRefusalsNameFlags: this includes flags whose names are ordinary words,
// but only where the flag is meant.
func TestRefusalsNameFlags(t *testing.T) {
	for detail, want := range map[string]string{
		`ean: "12" is no EAN; site: "x y" is no site`:                                             `--ean: "12" is no EAN; --site: "x y" is no site`,
		"ean: \"12\" is no EAN\nsite: unknown":                                                    "--ean: \"12\" is no EAN\n--site: unknown",
		"A window needs a selector (itemId, pzn, ean, asin with asinLocale, orderId or site).":    "A window needs a selector (--item-id, --pzn, --ean, --asin with --asin-locale, --order-id or --site).",
		"The site of that order is not among yours (as far as it is known): ask for another site": "The site of that order is not among yours (as far as it is known): ask for another site",
		"Leave out globalScope=true.":                                                             "Leave out --global-scope.",
	} {
		if got := byFlags(&client.Problem{Code: "INVALID", Detail: detail}); !strings.Contains(got.Error(), want) {
			t.Errorf("%q\nis told as %q", detail, got)
		}
	}
}
