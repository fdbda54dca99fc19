package main

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/ingest/market"
	"preismon/projector"
)

// TestOperate runs the operators' commands on one folder: audits, dead letters,
// metrics, backups.
func TestOperate(t *testing.T) {
	effort.Full(t, "a day of an operator, with backups on S3")
	t.Parallel()
	u := startUp(t, "--audit-every", "5s", "--remember-streams", "0") // damage by hand is not announced
	r := must.Get(embedded.ReadRuntime(u.DataDir))(t)
	b := u.bus(t)
	m, catalogue, observations := aMarket(t, market.Config{Seed: 3, Scale: 0.02}, 12*time.Hour)
	o := &operate{t: t, up: u, bus: b, db: u.tables(), runtime: r, observations: observations}
	o.account = m.Accounts()[0]
	// The events published last contain no old captures, however late
	// observations arrive at this time of day: see window.
	slices.SortStableFunc(observations, func(a, b *event.Event) int {
		return cmp.Compare(firstCapture(a), firstCapture(b))
	})
	n := len(observations)
	o.observations, o.later, o.latest = observations[:n-40], observations[n-40:n-20], observations[n-20:]
	for _, e := range catalogue {
		o.publish(e.Subject(), e, func(s string) string { return s })
	}
	waitUntilApplied(t, u)
	o.seenFirst(t)
	for _, e := range o.observations[2:] {
		o.publish(e.Subject(), e, func(s string) string { return s })
	}
	waitUntilApplied(t, u)
	settle(t, o.db)
	t.Run("audit of nothing wrong", func(t *testing.T) { o.audits(t, 0) })
	t.Run("dead letters", o.deadLetters)
	t.Run("metrics", o.metrics)
	t.Run("backup", o.backup)
	t.Run("rebuild", o.rebuild)
	t.Run("rebuild of one table", o.tables)
	t.Run("audit of damage", o.damage)
	t.Run("usage", o.usage)
	t.Run("rebuild of damage", o.mend)
	t.Run("restore", o.restore)
}

type operate struct {
	t            *testing.T
	up           *upProcess
	bus          *bus
	db           *sql.DB
	runtime      embedded.Runtime
	observations []*event.Event
	later        []*event.Event // published while the backup is taken
	latest       []*event.Event // published while the tables are rebuilt
	account      market.DemoAccount
	bucket       string // the location of a backup in it
	saved        uint64 // events that were applied before the backup
}

func (o *operate) publish(subject string, e *event.Event, change func(string) string) {
	o.t.Helper()
	body := must.Get(event.Encode(e))(o.t)
	m := &nats.Msg{Subject: subject, Data: []byte(change(string(body))), Header: nats.Header{jetstream.MsgIDHeader: {e.ID}}}
	must.Get(o.bus.js.PublishMsg(o.t.Context(), m))(o.t)
}

// run runs a command on the folder.
func (o *operate) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return inProcess(t, append(args, "--data-dir", o.up.DataDir)...)
}

// audit returns what an audit found; code is the expected exit code.
func (o *operate) audit(t *testing.T, code int, args ...string) (a projector.Audit) {
	t.Helper()
	out, errs, got := o.run(t, append([]string{"audit", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &a); err != nil || got != code {
		t.Errorf("audit --json: exit code %d, want %d: %s%s %v", got, code, out, errs, err)
	}
	return a
}

// audits is audit in both forms: in words of the servers by their addresses.
func (o *operate) audits(t *testing.T, code int) (a projector.Audit, text string) {
	t.Helper()
	a = o.audit(t, code)
	text, errs, got := inProcess(t, "audit", "--nats-url", o.runtime.NATSURL, "--clickhouse-dsn", o.runtime.ProjectorDSN)
	if nothing := strings.Contains(text, "Nothing is missing and nothing is doubled."); got != code || nothing != (code == 0) {
		t.Errorf("audit: exit code %d, want %d: %s%s", got, code, text, errs)
	}
	for _, f := range a.Findings {
		contains(t, text, f.Text)
	}
	return a, text
}

// deadLetters: a replay brings in events that were published under the wrong
// subject, or that an older program did not understand, and does so only once,
// however often they are replayed; to a feed that was followed before, too.
func (o *operate) deadLetters(t *testing.T) {
	c := o.up.client().login(o.account.LoginIdentifier, o.account.Password)
	c.t = t
	from, to := o.window()
	_, followed := o.readFeed(t, c, "", from, to)
	lost, old := o.observations[0], o.observations[1]
	o.publish("observations.elsewhere", lost, func(s string) string { return s })
	o.publish(old.Subject(), old, func(s string) string { return strings.Replace(s, `"kind"`, "\"k\x1b[2Jind\"", 1) })
	waitUntilApplied(t, o.up)
	// As if an older program had made this one a dead letter.
	body := must.Get(event.Encode(old))(t)
	if _, err := o.bus.js.PublishMsg(t.Context(), &nats.Msg{Subject: event.DeadLetterSubject(event.StreamObservations), Data: body, Header: nats.Header{
		event.HeaderReason: {"version: 1 is unknown\x1b[2J"}, event.HeaderStream: {event.StreamObservations}, event.HeaderEpoch: {"1"}, event.HeaderSeq: {"1"},
		event.HeaderSubject: {old.Subject()},
	}}); err != nil {
		t.Fatal(err)
	}
	a := o.audit(t, 0)
	if a.DeadLetters != 2 || a.Events != uint64(len(o.observations)-2) {
		t.Errorf("%d dead letters, %d events: %+v", a.DeadLetters, a.Events, a)
	}

	text, errs, code := o.run(t, "deadletters", "list")
	if lines := strings.Split(strings.TrimSpace(text), "\n"); code != 0 || len(lines) != 4 || !strings.Contains(lines[1], "version: 1 is unknown") ||
		!strings.Contains(lines[3], "observations.elsewhere") || strings.Contains(text, "\x1b") {
		t.Errorf("list: exit code %d:\n%s%s", code, text, errs)
	}
	var list struct {
		Letters  []ingest.DeadLetter
		Matching int
	}
	out, errs, code := o.run(t, "deadletters", "list", "--json", "--since", "1h", "--limit", "2")
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || list.Matching != 3 || len(list.Letters) != 2 {
		t.Fatalf("list --json: exit code %d: %s%s %v", code, out, errs, err)
	}
	if out, _, code := o.run(t, "deadletters", "list", "--reason", "no such thing"); code != 0 || out != "No dead letters like that.\n" {
		t.Errorf("list of none: exit code %d: %s", code, out)
	}

	out, _, code = o.run(t, "deadletters", "show", "2")
	if code != 0 || strings.Contains(out, "\x1b") || !strings.Contains(out, `\u001b[2J`) || !strings.Contains(out, old.ID) {
		t.Errorf("show: exit code %d: %q", code, out)
	}
	out, _, code = o.run(t, "deadletters", "show", "3", "--bytes", "100")
	if code != 0 || !strings.Contains(out, "\n  \"eventId\"") && !strings.Contains(out, "\n  \"version\"") || !strings.Contains(out, "bytes more") {
		t.Errorf("show: exit code %d: %s", code, out)
	}
	if raw, _, code := o.run(t, "deadletters", "show", "3", "--raw"); code != 0 || raw != string(body) {
		t.Errorf("show --raw: exit code %d: %s", code, raw)
	}
	var shown struct {
		Letter  uint64
		Payload struct{ EventID string }
	}
	if out, _, code := o.run(t, "deadletters", "show", "3", "--json"); code != 0 || json.Unmarshal([]byte(out), &shown) != nil || shown.Letter != 3 || shown.Payload.EventID != old.ID {
		t.Errorf("show --json: exit code %d: %s", code, out)
	}
	out, errs, code = o.run(t, "deadletters", "show", "99")
	says(t, out, errs, code, exitFailed, "no dead letter 99")
	sentence(t, errs)

	events := func() uint64 { return number(t, o.db, "SELECT count() FROM ingested_events") }
	before := events()
	fed, followed := o.readFeed(t, c, followed, from, to)
	if len(fed) != 0 {
		t.Errorf("%d changes before the replay", len(fed))
	}
	replayed := results(t, c, from, to)
	if out, errs, code := o.run(t, "deadletters", "replay", "--all", "--dry-run"); code != exitRejected || events() != before ||
		!strings.Contains(out, "1: would be published to OBSERVATIONS") || !strings.Contains(out, "2: refused: it would fail again") {
		t.Errorf("replay --dry-run: exit code %d: %s%s", code, out, errs)
	}
	// Twice: the second time by force, as two operators might do without
	// talking to each other.
	for try, want := range []int{exitRejected, 0} {
		args := []string{"deadletters", "replay", "1", "3", "2"}
		if try > 0 {
			args = []string{"deadletters", "replay", "1", "3", "--force"}
		}
		out, errs, code := o.run(t, args...)
		if code != want || strings.Count(out, "published as sequence") != 2 {
			t.Errorf("replay %d: exit code %d, want %d: %s%s", try, code, want, out, errs)
		}
		equals.Is(t, before+2, events(), "replay %d events", try)
		noDoubles(t, o.db)
		rows := uint64(len(factsOf(lost)) + len(factsOf(old)))
		equals.Is(t, rows, number(t, o.db, "SELECT count() FROM observations WHERE (epoch, seq) IN (SELECT epoch, seq FROM ingested_events WHERE event_id IN (?, ?))", lost.ID, old.ID), "replay %d rows of the two events", try)
		more, next := o.readFeed(t, c, followed, from, to)
		fed, followed = append(fed, more...), next
	}
	// The rows that were there before, and those of the feed, are all there are.
	if all := results(t, c, from, to); len(fed) == 0 || !reflect.DeepEqual(seenOf(append(replayed, fed...)), seenOf(all)) {
		t.Errorf("%d rows before the replays and %d changes, %d rows after them", len(replayed), len(fed), len(all))
	}
	exits(t, exitRejected, "refused: it was replayed at")(o.run(t, "deadletters", "replay", "1"))
	a = o.audit(t, 0, "--content")
	if a.Copies != 2 || a.DeadLetters != 2 || a.Compared != a.Events || a.Events != uint64(len(o.observations)) {
		t.Errorf("after the replays: %+v", a)
	}
	if out, _, _ := o.run(t, "deadletters", "list", "--pending"); strings.Count(out, "\n") != 2 {
		t.Errorf("still pending:\n%s", out)
	}
}

// admin returns the answer of the admin port.
func (o *operate) admin(t *testing.T, path string) string {
	t.Helper()
	c := &api{t: t, url: o.up.AdminURL, http: http.DefaultClient}
	status, body := c.get(path, nil)
	if status != http.StatusOK {
		t.Errorf("%s: %d %s", path, status, body)
	}
	return string(body)
}

// metrics: what was done to this folder is counted, and is shown in /readyz.
func (o *operate) metrics(t *testing.T) {
	must.Eventually(t, time.Minute, "an audit beside the projector is clean", func() bool {
		return !strings.Contains(o.admin(t, "/metrics"), `preismon_audits_total{result="clean"} 0`)
	})
	text := o.admin(t, "/metrics")
	contains(t, text, "preismon_projector_leader 1", "preismon_projector_lag_messages 0", "preismon_projector_dead_letters_total 2", "preismon_projector_duplicate_events_total 2",
		`preismon_projector_insert_seconds_count{table="observations"}`, `preismon_projector_insert_rows_bucket{table="observations_by_mandate",le="+Inf"}`, "preismon_audit_findings 0")
	contains(t, o.admin(t, "/readyz"), `"ready":true`, `"leader":true`, `"lag_messages":0`, `"dead_letters":2`, `"result":"clean"`)
}

// backup: taken while events arrive, to the server's folder and to S3.
func (o *operate) backup(t *testing.T) {
	s3 := testserver.S3(t)
	client := must.Get(minio.New(s3.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(s3.AccessKey, s3.SecretKey, "")}))(t)
	must.Do(t, client.MakeBucket(t.Context(), s3.Bucket, minio.MakeBucketOptions{}))
	o.bucket = "s3://" + s3.AccessKey + ":" + s3.SecretKey + "@" + s3.Endpoint + "/" + s3.Bucket + "/first?tls=false"
	o.saved = number(t, o.db, "SELECT count() FROM ingested_events")
	var published sync.WaitGroup
	published.Go(func() {
		for _, e := range o.later {
			o.publish(e.Subject(), e, func(s string) string { return s })
		}
	})
	for _, to := range []string{"first", o.bucket} {
		out, errs, code := o.run(t, "backup", "--to", to)
		if code != 0 || !strings.HasPrefix(out, "Saved ") {
			t.Fatalf("backup: exit code %d: %s%s", code, out, errs)
		}
		if strings.Contains(out+errs, s3.SecretKey) {
			t.Error("it tells the secret")
		}
		out, errs, code = o.run(t, "backup", "--to", to)
		says(t, out, errs, code, exitFailed)
	}
	published.Wait()
	if left, err := os.ReadDir(serverBackups(o.up.DataDir)); err != nil || len(left) != 0 {
		t.Errorf("in the server's folder of backups: %v %v", left, err)
	}
	out, errs, code := o.run(t, "backup", "drill", "--from", o.bucket)
	if code != 0 || !strings.Contains(out, "Nothing is missing and nothing is doubled.") || strings.Contains(out+errs, s3.SecretKey) {
		t.Errorf("drill from the bucket: exit code %d: %s%s", code, out, errs)
	}
	waitUntilApplied(t, o.up)
}

func none(func(*event.Event) bool) {}

// damage: an audit names what was changed in the tables.
func (o *operate) damage(t *testing.T) {
	seq := number(t, o.db, "SELECT max(seq) FROM observations_by_mandate") // the last event need not have rows there
	for _, q := range []string{
		"DELETE FROM observations_by_mandate WHERE seq = " + strconv.FormatUint(seq, 10),
		"INSERT INTO observations SELECT * FROM observations WHERE seq = 10",
	} {
		must.Get(o.db.ExecContext(t.Context(), q))(t)
	}
	a, text := o.audits(t, exitFound)
	t.Log(text)
	what := map[string]bool{}
	for _, f := range a.Findings {
		what[f.What+" "+f.Where+" "+strconv.FormatUint(f.First, 10)] = true
	}
	if len(what) < 2 || !what["doubled observations 10"] || !what["missing observations_by_mandate "+strconv.FormatUint(seq, 10)] {
		t.Errorf("findings %v", what)
	}
	// The proof, which also runs, may be the first to report it.
	must.Eventually(t, time.Minute, "the audit beside the projector finds it too", func() bool {
		ready := o.admin(t, "/readyz")
		return strings.Contains(ready, "observations holds") && strings.Contains(ready, `"result":"found"`)
	})
	if metrics, ready := o.admin(t, "/metrics"), o.admin(t, "/readyz"); strings.Contains(metrics, "preismon_audit_findings 0") || !strings.Contains(ready, `"ready":true`) {
		t.Errorf("after the damage /readyz says %s", ready)
	}
}

// usage: wrong flags are reported at once.
func (o *operate) usage(t *testing.T) {
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"audit"}, "data-dir, or nats-url and clickhouse-dsn: missing"},
		{[]string{"audit", "--data-dir", o.up.DataDir, "--nats-url", "nats://x:1"}, "cannot be combined"},
		{[]string{"audit", "--nats-url", "nats://x:1"}, "clickhouse-dsn: missing"},
		{[]string{"deadletters", "list", "--since", "yesterday", "--data-dir", o.up.DataDir}, "since: \"yesterday\""},
		{[]string{"deadletters", "replay", "--data-dir", o.up.DataDir}, "numbers of letters, or all: missing"},
		{[]string{"deadletters", "replay", "1", "--all", "--data-dir", o.up.DataDir}, "all: cannot be combined"},
	} {
		out, errs, code := inProcess(t, c.args...)
		says(t, out, errs, code, exitUsage, c.words)
	}
}
