package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestNotifyMetrics: notify exposes exactly the metrics that its page names, by
// target; while a target refuses an alert, the time for which it is held rises.
func TestNotifyMetrics(t *testing.T) {
	t.Parallel() // it mostly waits
	var fired, expired, accepts atomic.Bool
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		since, alert := r.URL.Query().Get("since"), ""
		switch {
		case expired.Load():
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":"AUTH_TOKEN_INVALID","detail":"No."}`)
			return
		case since != "1" && fired.Load():
			since, alert = "1", `{"alertId":"a","rule":"PRICE_DROP","after":{"capturedAt":"2026-01-01T00:00:00Z"}}`
		case since == "":
			since = "0"
		}
		fmt.Fprintf(w, `{"data":[%s],"progress":{"token":%q,"upToDate":true}}`, alert, since)
	}))
	t.Cleanup(feed.Close)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !accepts.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	must.Do(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\n"), 0o600))
	must.Do(t, os.WriteFile(rules, fmt.Appendf(nil, `allowHosts: [127.0.0.1]
targets:
  hook: {webhook: {url: "%s/", secretFile: %s/secret}}
  desk: {command: ["true"]}
rules: [{name: drops, rule: PRICE_DROP, percent: 1, targets: [hook, desk]}]
`, hook.URL, dir), 0o600))
	r := startRoleWith(t, []string{"PREISMON_URL=" + feed.URL, "PREISMON_TOKEN=t"},
		"notify", "--every", "1s", "--admin-listen", "127.0.0.1:0", "--state", filepath.Join(dir, "state"), rules)

	want := map[string]string{}
	page := must.Get(os.ReadFile("../../deploy/docs/how-to/be-told.md"))(t)
	for _, found := range regexp.MustCompile("`(preismon_notify_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		if want[found[1]] = "gauge target"; strings.HasSuffix(found[1], "_total") {
			want[found[1]] = "counter target"
		}
	}
	want["preismon_build_info"] = "gauge build"
	equals.Checkf(t, want, exposedMetrics(t, "http://"+r.Admin()), "be-told.md and /metrics differ (- only in the document)")

	of := func(name, target string) float64 {
		t.Helper()
		n, ok := r.Metrics()[fmt.Sprintf("preismon_notify_%s{target=%q}", name, target)]
		if !ok {
			t.Fatalf("%s of %s is not there", name, target)
		}
		return n
	}
	counts := func(delivered float64, target string) bool {
		return of("delivered_total", target) == delivered && of("given_up_total", target) == 0 && (of("held_seconds", target) == 0) == (delivered == 1)
	}
	must.Eventually(t, time.Minute, "both targets have begun", func() bool {
		state, _ := os.ReadFile(filepath.Join(dir, "state"))
		return strings.Contains(string(state), "hook") && strings.Contains(string(state), "desk")
	})
	equals.Is(t, 0, of("held_seconds", "hook"), "held for s before an alert fired")
	fired.Store(true)
	must.Eventually(t, time.Minute, "one target has the alert, and the other refuses it", func() bool {
		return counts(1, "desk") && counts(0, "hook") && of("retried_total", "hook") > 0
	})
	held := of("held_seconds", "hook")
	must.Eventually(t, time.Minute, "it is held for a second longer", func() bool { return of("held_seconds", "hook") >= held+1 })
	accepts.Store(true)
	must.Eventually(t, time.Minute, "the other target has it, too", func() bool { return counts(1, "hook") })
	equals.Is(t, 0, of("unread_total", "hook")+of("unread_total", "desk")+of("retried_total", "desk"), "other failures are counted")
	expired.Store(true)
	must.Eventually(t, time.Minute, "both targets are not up to date", func() bool { return of("unread_total", "hook") > 0 && of("unread_total", "desk") > 0 })
}
