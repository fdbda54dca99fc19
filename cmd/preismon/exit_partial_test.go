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
)

// documented gives the commands that a code belongs to.
func documented(t *testing.T, code int) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docsFolder, "reference", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
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

// halfAnswers begins every list with a page, and refuses what comes then.
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
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"itemId":"1","site":"a","capturedAt":"2026-10-01T00:00:00.000Z"}],"paging":{"nextCursor":"c"}}`)
		}
	})
}

// TestPartialAnswers: each command that the documents say ends with code 4 does
// so where a part of its answer was written.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	eans := strings.Repeat("4006381333931\n", 10_001)
	args := map[string][]string{
		"results": {}, "items": {}, "sites": {}, "orders": {}, "stats": {}, "position": {}, "site-status": {}, "overview": {}, "item-summary": {"11"},
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

// TestFoundAndRejected: the commands of the codes 3 and 5 are those whose tests
// see the code.
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

// TestAllFaultsAtOnce: of flags, variables and the file.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	config := file(t, "c.yaml", "audit-every: rarely\nlissten: x\n")
	_, errs, code := preismon(t, []string{"PREISMON_SYNC_ALWAYS=perhaps"}, "up", "--config", config, "--stop-grace", "soon", "--demoo", "--demooo", "--log-level=loud", "--listen", "127.0.0.1:0")
	for _, want := range []string{
		"--stop-grace: ", "unknown flag --demoo", "unknown flag --demooo", "--log-level must be one of", `(from envar PREISMON_SYNC_ALWAYS="perhaps")`, "--audit-every", `"lissten" is no flag`,
		"See `preismon up --help`",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	if n := strings.Count(errs, "\n"); code != exitUsage || n != 8 {
		t.Errorf("exit code %d, %d lines:\n%s", code, n, errs)
	}
	_, errs, code = preismon(t, nil, "import", "--map", "example")
	if code != exitUsage || !strings.HasSuffix(errs, "See `preismon import --help`.\n") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestFlagsOfParameters: a refusal of the API names parameters; each that has
// another name as a flag is told by that flag.
func TestFlagsOfParameters(t *testing.T) {
	for parameter, flag := range map[string]string{
		"ownMerchant": "--own-merchant", "ownSite": "--own-site", "rearmPercent": "--rearm-percent", "currencyCode": "--currency-code",
		"capturedFrom": "--from", "itemId": "--item-id", "latestObservationPerPair": "--latest-observation-per-pair", "globalScope": "--global-scope", "exportName": "--export-name",
	} {
		if got := flagOf()[parameter]; got != flag {
			t.Errorf("%s is %q, want %q", parameter, got, flag)
		}
	}
}
