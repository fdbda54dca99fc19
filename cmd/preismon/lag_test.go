package main

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestLagWithoutLeader: while something waits, no process reports that nothing
// does: one that does not lead reports no lag, in its metrics and in /readyz,
// where a projector also reports what ClickHouse answers it. The leader is held
// to its limits of pairs.
func TestLagWithoutLeader(t *testing.T) {
	t.Parallel()
	m := &memoryTest{T: t, ch: testserver.ClickHouse(t), nats: testserver.NATS(t)}
	m.db = database(t, m.ch.AdminDSN)
	m.publish(each(memoryMandate(1), memoryOrder(1, 1, 5, 3), memoryOrder(1, 2, 5, 2), memoryOrder(1, 3, 3, 2)))
	args := append([]string{"projector", "--nats-url", m.nats, "--clickhouse-dsn", m.ch.ProjectorDSN, "--admin-listen", "127.0.0.1:0"}, pairLimits...)
	projectors := []*role{startRole(t, args...), startRole(t, args...)} // neither leads: there are no tables yet
	lags := []string{"preismon_projector_lag_messages", "preismon_projector_lag_seconds", "preismon_projector_catalog_lag_messages"}
	ready := func(r *role) string {
		_, body := r.Ask("/readyz")
		return body
	}
	check := func() (leaders int) {
		t.Helper()
		for _, r := range projectors {
			leads := r.metric("preismon_projector_leader") == "1"
			for _, name := range lags {
				if v := r.metric(name); !leads && v != "" && r.metric("preismon_projector_leader") != "1" {
					t.Errorf("who does not lead says %s %s", name, v)
				}
			}
			if text := ready(r); strings.Contains(text, `"leader":false`) && strings.Contains(text, "lag_messages") {
				t.Errorf("who does not lead says %s", text)
			}
			if leads {
				leaders++
			}
		}
		return leaders
	}
	if n := check(); n != 0 {
		t.Fatalf("%d lead without tables", n)
	}
	exits(t, 0)(inProcess(t, "migrate", "--clickhouse-dsn", m.ch.AdminDSN))
	var leader *role
	must.Eventually(t, time.Minute, "one leads, and nothing waits", func() bool {
		if check() != 1 {
			return false
		}
		for _, r := range projectors {
			if r.metric(lags[0]) == "0" && r.metric(lags[2]) == "0" && strings.Contains(ready(r), `"lag_messages":0`) {
				leader = r
				return true
			}
		}
		return false
	})
	equals.Is(t, 1, number(t, m.db, "SELECT count() FROM mandates"), "mandates when nothing waits")
	m.pairsBeyondTheLimit(leader)

	wrong := must.Get(url.Parse(m.ch.ProjectorDSN))(t)
	wrong.User = url.UserPassword(wrong.User.Username(), "hush-hush")
	stranger := startRole(t, "projector", "--nats-url", m.nats, "--clickhouse-dsn", wrong.String(), "--admin-listen", "127.0.0.1:0")
	must.Eventually(t, time.Minute, "a projector says that its password is wrong", func() bool { return strings.Contains(stranger.check("tables"), "Authentication failed") })
	if said := ready(stranger); stranger.Ready() || strings.Contains(said, "hush-hush") {
		t.Errorf("with a wrong password: %s", said)
	}
	stranger.terminate()
	for _, r := range projectors {
		if said := r.check("tables"); said != "ok" || !r.Ready() {
			t.Errorf("of its tables a projector says %q", said)
		}
		r.terminate()
	}
}
