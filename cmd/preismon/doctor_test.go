package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"preismon/cmd/preismon/doctor"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
)

// doctorOn: in a new folder all is well except that it has no backup; poison, a
// node at another address, and unreachable servers are each found, with what
// fixes them.
func doctorOn(t *testing.T, u *upProcess) {
	look := func(code int, args ...string) map[string]doctor.Finding {
		t.Helper()
		out, errs, got := inProcess(t, append([]string{"doctor", "--json"}, args...)...)
		if got != code {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, got, code, out, errs)
		}
		found := map[string]doctor.Finding{}
		for line := range strings.Lines(out) {
			var f doctor.Finding
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if known, ok := found[f.Check]; !ok || known.State == doctor.OK {
				found[f.Check] = f
			}
		}
		return found
	}
	here := []string{"--data-dir", u.DataDir}
	all := look(0, here...)
	for _, f := range all {
		want := doctor.OK
		if f.Check == "backup" {
			want = doctor.Warning
		}
		if f.State != want && f.Check != "disk" && f.Check != "memory" { // these depend on the machine that runs the tests
			t.Errorf("%+v", f)
		}
	}
	for _, check := range []string{"size", "role", "open files", "archive of the data folder", "keys"} {
		if f := all[check]; f.State != doctor.OK {
			t.Errorf("%s: %+v", check, f)
		}
	}
	out, errs, code := inProcess(t, append([]string{"backup", "--to", "first"}, here...)...)
	says(t, out, errs, code, 0)
	found := look(0, here...)
	if f := found["backup"]; f.State != doctor.OK {
		t.Errorf("after a backup: %+v", f)
	}
	if f := found["last proven restore"]; f.State != doctor.Warning || f.Fix != "preismon backup drill --data-dir "+u.DataDir {
		t.Errorf("before a drill: %+v", f)
	}

	runtime := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	servers := look(0, "--nats-url", runtime.NATSURL, "--clickhouse-dsn", runtime.AdminDSN)
	if f := servers["backup"]; f.State != doctor.OK || !strings.Contains(f.Says, "by ClickHouse") {
		t.Errorf("by the server: %+v", f)
	}
	if f := servers["disk of ClickHouse"]; f.State == doctor.Unknown || !strings.Contains(f.Says, "of its fullest disk") {
		t.Errorf("the disk of the server: %+v", f)
	}

	must.Get(u.bus(t).js.Publish(t.Context(), "observations.shop-1=example", []byte("poison")))(t)
	must.Eventually(t, time.Minute, "the poison is among the dead letters", func() bool {
		found = look(0, append(here, "--node", strings.Replace(u.URL, "127.0.0.1", "localhost", 1))...)
		return found["dead letters"].State != doctor.OK
	})
	if f := found["dead letters"]; f.State != doctor.Warning || f.Fix != "preismon deadletters list --pending --data-dir "+u.DataDir {
		t.Errorf("%+v", f)
	}
	if f := found["query node"]; f.State != doctor.Warning || !strings.Contains(f.Says, "calls itself "+u.URL) {
		t.Errorf("%+v", f)
	}

	found = look(exitFound, "--nats-url", "nats://127.0.0.1:1", "--clickhouse-dsn", "clickhouse://nobody:nothing@127.0.0.1:1/none", "--node", "http://127.0.0.1:1", "--admin", "http://127.0.0.1:1")
	for _, check := range []string{"NATS", "ClickHouse", "query node", "role"} {
		if f := found[check]; f.State != doctor.Bad || f.Fix == "" {
			t.Errorf("%s is away: %+v", check, f)
		}
	}
	exits(t, 0, "→ preismon deadletters list")(inProcess(t, append([]string{"doctor"}, here...)...))
}
