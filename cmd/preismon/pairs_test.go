package main

import "preismon/deploy/testserver/equals"

// pairLimits are the flags of projectors that pairsBeyondTheLimit needs.
var pairLimits = []string{"--max-order-pairs", "10", "--max-mandate-pairs", "15"}

// pairsBeyondTheLimit: orders of more pairs than a projector accepts, of 5 items
// at 3 sites and of 3 at 2, became dead letters that give this reason, and the
// one between them was applied.
func (m *memoryTest) pairsBeyondTheLimit(leader *role) {
	m.Helper()
	waitApplied(m.T, m.nats)
	settle(m.T, m.db)
	equals.Is(m, 10, number(m.T, m.db, "SELECT pairs FROM scopes FINAL"), "pairs in force, want those of the second order")
	equals.Is(m, "2", leader.metric("preismon_projector_dead_letters_total"), "dead letters")
	out, errs, code := inProcess(m.T, "deadletters", "list", "--nats-url", m.nats)
	says(m.T, out, errs, code, 0)
	contains(m.T, out, "5 items at 3 sites are 15 pairs, at most 10 in an order", "give 16 pairs, at most 15")
	out, errs, code = inProcess(m.T, "audit", "--nats-url", m.nats, "--clickhouse-dsn", m.ch.AdminDSN)
	says(m.T, out, errs, code, 0)
	out, errs, code = inProcess(m.T, "projector", "--check", "--nats-url", m.nats, "--clickhouse-dsn", m.ch.ProjectorDSN, "--max-order-pairs", "20", "--max-mandate-pairs", "10")
	says(m.T, out, errs, code, exitUsage, "max-mandate-pairs")
}
