package projector_test

import (
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/projector"
)

// TestFitting: the oldest quarter that fits is found by going back from the
// newest, counting both tables; expiring up to it leaves what fits.
func TestFitting(t *testing.T) {
	w := newWorld(t)
	w.cfg.KeepScopes = 0
	w.restart()
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1})))
	w.apply(w.aroundQuarters(60))
	sizes := func() map[time.Time]uint64 {
		t.Helper()
		all, err := projector.Quarters(t.Context(), w.conn)
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		sum := map[time.Time]uint64{}
		for _, of := range all {
			for _, q := range of {
				sum[q.First] += q.Bytes
			}
		}
		return sum
	}
	fitting := func(bytes uint64) time.Time {
		t.Helper()
		at := must.Get(projector.Fitting(t.Context(), w.conn, bytes))(t)
		return at
	}
	w.exec("OPTIMIZE TABLE observations FINAL") // so that sizes do not change
	w.exec("OPTIMIZE TABLE observations_by_mandate FINAL")
	of := sizes()
	newest := of[quarters[3]]
	two := newest + of[quarters[2]]
	var all uint64
	for _, bytes := range of {
		all += bytes
	}
	if newest == 0 || of[quarters[2]] == 0 || all <= two {
		t.Fatal(of)
	}
	for _, c := range []struct {
		bytes uint64
		want  time.Time
	}{{all, time.Time{}}, {all - 1, quarters[0]}, {two, quarters[2]}, {two - 1, quarters[3]}, {newest, quarters[3]}, {newest - 1, quarters[3].AddDate(0, 3, 0)}} {
		if got := fitting(c.bytes); !got.Equal(c.want) {
			t.Errorf("%d of %d bytes: from %s on, want %s", c.bytes, all, got, c.want)
		}
	}
	w.expire(fitting(two))
	w.verify() // removes, then compares
	var left uint64
	for _, bytes := range sizes() {
		left += bytes
	}
	if left > two || left == 0 {
		t.Errorf("%d bytes are left, want at most %d", left, two)
	}
}
