package projector_test

import (
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
)

// TestProof changes events and rows behind the projector's back. The next
// leader notices at its start, and so does the audit, even when the stream no
// longer holds what is missing from the tables.
func TestProof(t *testing.T) {
	w, k := newWorld(t), newKept(t)
	w.apply(k.keep(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0, 1}))))
	w.apply(w.observations(10)) // the stream no longer has any of them
	w.apply(w.observations(10))
	w.apply(k.keep(w.observations(10)))
	w.settle()
	if a := w.audit(k, false); !a.Proven || len(a.Findings) > 0 {
		t.Fatalf("proven %v, %v", a.Proven, found(a))
	}
	back := w.save("observations", "observations_by_mandate", "ingested_events", "latest_observations")
	for name, c := range map[string]struct {
		change string
		want   []string // kind and table of each finding
	}{
		"rows lost":    {"DELETE FROM observations WHERE seq BETWEEN 11 AND 20", []string{"missing observations"}},
		"rows doubled": {"INSERT INTO observations SELECT * FROM observations WHERE seq BETWEEN 11 AND 20", []string{"doubled observations"}},
		"rows moved": {"INSERT INTO observations SELECT * REPLACE (seq + 1000000 AS seq, toUInt32(1) AS epoch) FROM (SELECT * FROM observations WHERE seq BETWEEN 11 AND 20);" +
			"DELETE FROM observations WHERE seq BETWEEN 11 AND 20", []string{"differs observations"}},
		"events lost": {"DELETE FROM ingested_events WHERE seq BETWEEN 11 AND 20", []string{"missing ingested_events"}},
		// With these gone, the newest capture of each pair is another one, too.
		"all lost": {"DELETE FROM ingested_events WHERE seq BETWEEN 11 AND 20; DELETE FROM observations WHERE seq BETWEEN 11 AND 20;" +
			"DELETE FROM observations_by_mandate WHERE seq BETWEEN 11 AND 20; TRUNCATE TABLE latest_observations", []string{"missing ingested_events", "missing observations"}},
	} {
		for q := range strings.SplitSeq(c.change, ";") {
			w.exec(q)
		}
		w.restart()
		is := must.Get(w.p.Prove(t.Context()))(t)
		equals.Slices(t, c.want, kinds(is.Findings), "%s: the start found", name)
		a := w.audit(k, false)
		if len(a.Findings) == 0 {
			t.Errorf("%s: the audit found nothing", name)
		}
		for _, want := range c.want {
			if name == "all lost" && !slices.Contains(kinds(a.Findings), want) {
				t.Errorf("%s: the audit found %q, want %q", name, kinds(a.Findings), want)
			}
		}
		back("observations", "observations_by_mandate", "ingested_events", "latest_observations")
	}
	w.restart()
	w.verify() // the tables match their proof again
}

// TestProofOfOlderTables: tables that were written before there were proofs get
// a proof of what they hold, and batches continue from it.
func TestProofOfOlderTables(t *testing.T) {
	w := newWorld(t)
	w.apply(w.observations(10))
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) SELECT stream, partition, epoch, seq FROM checkpoints FINAL")
	w.restart()
	w.apply(w.observations(10)) // before the first proof
	prove := func() projector.Proof {
		t.Helper()
		is := must.Get(w.p.Prove(t.Context()))(t)
		return is
	}
	prove()
	w.apply(w.observations(10))
	w.restart()
	if is := prove(); len(is.Findings) > 0 {
		t.Errorf("%q", kinds(is.Findings))
	}
	w.exec("DELETE FROM observations WHERE seq = 3")
	w.restart()
	if got := kinds(prove().Findings); !slices.Equal(got, []string{"missing observations"}) {
		t.Errorf("%q", got)
	}
}

// TestProofPassesLostMessages: events beyond the checkpoint stay when the
// stream has lost their messages, and the proof counts them.
func TestProofPassesLostMessages(t *testing.T) {
	s := cutOff(t, "checkpoints")
	s.oracle.observe(s.lost)
	s.resume(s.forked())
	s.goesOn()
	s.restart()
	s.verify()
}

func kinds(list []projector.Finding) (all []string) {
	for _, f := range list {
		all = append(all, f.What+" "+f.Where)
	}
	return all
}
