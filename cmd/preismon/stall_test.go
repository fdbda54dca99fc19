package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

const leaderMetric = "preismon_projector_leader"

// TestProjectorMeetsTablesLate: a projector that starts while it cannot reach
// its tables keeps no lease from one that can. If the tables that become
// reachable are not ones that it may write, it ends; if they must be migrated
// first, it waits for that.
func TestProjectorMeetsTablesLate(t *testing.T) {
	effort.Full(t, "a projector without tables")
	t.Parallel()
	nats, s := testserver.NATS(t), migrated.ClickHouse(t)
	db := database(t, s.AdminDSN)
	for _, c := range []struct {
		name, change string // what happens to the tables while they are out of reach
		says         string
		back         string // makes them what they were; empty: the projector waits, and leads after a migration
	}{
		{"to be migrated", "TRUNCATE TABLE schema_migrations", "run `preismon migrate`", ""},
		{"newer", "INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'later', '')", "start the newer program", "DELETE FROM schema_migrations WHERE version = 9999"},
		{"of another partition", "INSERT INTO checkpoints (stream, partition, partitions, epoch, seq) VALUES ('OBSERVATIONS', 0, 4, 1, 1)", "the tables are of another partition", "TRUNCATE TABLE checkpoints"},
	} {
		t.Run(c.name, func(t *testing.T) {
			between, through := proxy.Before(t, s.ProjectorDSN)
			between.Refuse()
			args := func(dsn string) []string {
				return []string{"projector", "--nats-url", nats, "--clickhouse-dsn", dsn, "--admin-listen", "127.0.0.1:0"}
			}
			late := startRole(t, args(through)...)
			must.Eventually(t, time.Minute, "it says what it waits for", func() bool { return strings.Contains(late.Written(), "the tables cannot be read") })
			right := startRole(t, args(s.ProjectorDSN)...)
			must.Eventually(t, time.Minute, "the other leads", func() bool { return right.metric(leaderMetric) == "1" })
			right.terminate()
			must.Get(db.ExecContext(t.Context(), c.change))(t)
			between.Mend()
			if c.back == "" {
				must.Eventually(t, time.Minute, "it says what to do", func() bool { return strings.Contains(late.Written(), c.says) })
				if late.metric(leaderMetric) != "0" || strings.Contains(late.Written(), `"msg":"leading"`) {
					t.Error("it asked for the lease")
				}
				out, errs, code := inProcess(t, "migrate", "--clickhouse-dsn", s.AdminDSN)
				says(t, out, errs, code, 0)
				must.Eventually(t, time.Minute, "it leads by itself", func() bool { return late.metric(leaderMetric) == "1" })
				late.terminate()
				return
			}
			select {
			case <-late.Ended():
			case <-time.After(20 * time.Second):
				t.Fatal("it has not ended")
			}
			if code := late.ExitCode(); code != exitFailed || !strings.Contains(late.Written(), c.says) {
				t.Errorf("exit code %d: %s", code, late.Written())
			}
			must.Get(db.ExecContext(t.Context(), c.back))(t)
		})
	}
}

// TestProjectorGivesLeaseBack: a standby that takes over without reaching its
// tables leaves the lease to one that does, and leads again when it reaches
// them.
func TestProjectorGivesLeaseBack(t *testing.T) {
	t.Parallel()
	nats, s := testserver.NATS(t), migrated.ClickHouse(t)
	between, through := proxy.Before(t, s.ProjectorDSN)
	args := func(dsn string) []string {
		return []string{"projector", "--nats-url", nats, "--clickhouse-dsn", dsn, "--admin-listen", "127.0.0.1:0", "--lease-ttl", "2s"}
	}
	leader := startRole(t, args(s.ProjectorDSN)...)
	must.Eventually(t, time.Minute, "the first leads", func() bool { return leader.metric(leaderMetric) == "1" })
	cutOff := startRole(t, args(through)...)
	must.Eventually(t, time.Minute, "the second stands by", func() bool { return strings.Contains(cutOff.Written(), "standing by") })
	between.Refuse()
	leader.Signal(syscall.SIGKILL)
	must.Eventually(t, time.Minute, "it gives the lease back", func() bool { return strings.Contains(cutOff.Written(), "lease given back") })
	third := startRole(t, args(s.ProjectorDSN)...)
	must.Eventually(t, 10*time.Second, "the third leads", func() bool { return third.metric(leaderMetric) == "1" })
	third.terminate()
	between.Mend()
	must.Eventually(t, time.Minute, "the second leads", func() bool { return cutOff.metric(leaderMetric) == "1" })
}
