package main

import (
	"strings"
	"testing"

	"preismon/deploy/testserver"
)

// TestPairsBeyondTheLimit: an order of more pairs than a projector accepts
// becomes a dead letter that gives this reason, and what follows it is applied.
func TestPairsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	m := &memoryTest{T: t, ch: testserver.ClickHouse(t), nats: testserver.NATS(t)}
	m.db = database(t, m.ch.AdminDSN)
	if _, errs, code := preismon(t, nil, "migrate", "--clickhouse-dsn", m.ch.AdminDSN); code != 0 {
		t.Fatal(errs)
	}
	m.publish(each(memoryMandate(1), memoryOrder(1, 1, 5, 3), memoryOrder(1, 2, 5, 2), memoryOrder(1, 3, 3, 2)))
	r := m.project("--max-order-pairs", "10", "--max-mandate-pairs", "15")
	if n := number(t, m.db, "SELECT pairs FROM scopes FINAL"); n != 10 {
		t.Errorf("%d pairs in force, want those of the second order", n)
	}
	if n := r.metric("preismon_projector_dead_letters_total"); n != "2" {
		t.Errorf("%s dead letters, want 2", n)
	}
	out, errs, code := preismon(t, nil, "deadletters", "list", "--nats-url", m.nats)
	for _, reason := range []string{"5 items at 3 sites are 15 pairs, at most 10 in an order", "give 16 pairs, at most 15"} {
		if code != 0 || !strings.Contains(out, reason) {
			t.Errorf("exit code %d, no %q in:\n%s%s", code, reason, out, errs)
		}
	}
	out, errs, code = preismon(t, nil, "audit", "--nats-url", m.nats, "--clickhouse-dsn", m.ch.AdminDSN)
	if code != 0 {
		t.Errorf("the audit: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := preismon(t, nil, "projector", "--check", "--nats-url", m.nats, "--clickhouse-dsn", m.ch.ProjectorDSN, "--max-order-pairs", "20", "--max-mandate-pairs", "10"); code == 0 || !strings.Contains(errs, "max-mandate-pairs") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	r.terminate()
}
