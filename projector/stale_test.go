package projector_test

import (
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// TestReplacedScopeIsRemoved: a deletion of a replaced scope waits on the server
// until the projector has begun again after a failure, and then deletes nothing.
// It is repeated.
func TestReplacedScopeIsRemoved(t *testing.T) {
	w := newWorld(t) // replaced scopes are removed at once
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0})))
	w.exec("SYSTEM STOP MERGES scope_pairs")
	t.Cleanup(func() { w.exec("SYSTEM START MERGES scope_pairs") })
	w.apply(w.catalog(order(1, 10, true, 0, []int{1, 2}, []int{0})))
	w.settle()
	deletions := func() (waiting, all int) {
		w.scan("SELECT countIf(NOT is_done), count() FROM system.mutations WHERE database = currentDatabase() AND table = 'scope_pairs'", nil, &waiting, &all)
		return waiting, all
	}
	must.Do(t, w.p.Maintain(t.Context()))
	if waiting, all := deletions(); waiting != 1 || all != 1 {
		t.Fatalf("%d of %d deletions wait: this shows nothing", waiting, all)
	}
	w.conn.failOnce("observations", false)
	if w.must(w.observations(5)) == 0 {
		t.Fatal("nothing failed: this shows nothing")
	}
	w.exec("SYSTEM START MERGES scope_pairs")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		must.Do(t, w.p.Maintain(t.Context()))
		var versions int
		w.scan("SELECT uniqExact(version) FROM scope_pairs WHERE mandate = 1", nil, &versions)
		if versions == 1 {
			break
		}
		if time.Now().After(deadline) {
			_, all := deletions()
			t.Fatalf("%d versions are left after %d deletions", versions, all)
		}
	}
	w.verify()
}
