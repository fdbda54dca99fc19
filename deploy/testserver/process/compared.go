package process

import "testing"

// Compares is the flag with which a query node compares each remembered answer
// with a new one, and fails the request if they differ.
const Compares = "--check-remembered"

// Compared is how many remembered answers a node compared since it started: as
// many were the same as a new one, or different.
type Compared struct{ Same, Different uint64 }

// Compared asks a query node; not ok: it does not answer.
func (r *Role) Compared() (c Compared, ok bool) {
	m := r.Metrics()
	same, ok := m[`preismon_remembered_checks_total{result="same"}`]
	return Compared{uint64(same), uint64(m[`preismon_remembered_checks_total{result="different"}`])}, ok
}

// WantCompared fails the test unless each of some nodes, which run with Compares,
// has compared answers, and found them all the same. It returns how many.
func WantCompared(tb testing.TB, nodes ...*Role) (same uint64) {
	tb.Helper()
	for _, r := range nodes {
		c, ok := r.Compared()
		if !ok || c.Same == 0 || c.Different > 0 {
			tb.Errorf("remembered answers of %s: %+v, answers: %v", r.Listen(), c, ok)
		}
		same += c.Same
	}
	tb.Logf("compared=%d remembered answers of %d nodes", same, len(nodes))
	return same
}
