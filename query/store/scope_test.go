package store_test

import (
	"maps"
	"slices"
	"testing"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestScopesAreCounted compares the counts of a scope with a look at every
// pair, for accounts that see all of their mandate and for others: VIS-01a,
// VIS-02, VIS-05.
func TestScopesAreCounted(t *testing.T) {
	w := newWorld(t, 5, 10)
	for _, account := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
		access := must.Get(w.store.Access(t.Context(), account))(t)
		for n, sel := range []query.Selectors{
			{},
			{Site: "gamma.example"},
			{Site: "none.example"},
			{Order: orderA},
			{Order: orderC},
			{Item: 4},
			{EAN: "4006381333931"},
			{Item: 3, Site: "market.example"},
			{Order: orderB, EAN: "00000096385074"},
		} {
			v, want := access.Visibility, w.pairsUnder(account, sel)
			bySite := must.Get(w.store.PairsBySite(t.Context(), v, sel))(t)
			sites, items := map[contracts.SiteKey]uint64{}, map[contracts.ItemID]bool{}
			for _, p := range want {
				sites[p.Site]++
				items[p.Item] = true
			}
			equals.Checkf(t, sites, bySite, "account %d, %+v: pairs by site", account, sel)
			limit, all := []int{2, 100}[n%2], slices.Sorted(maps.Keys(items))
			got := must.Get(w.store.ScopeItems(t.Context(), v, sel, limit))(t)
			equals.Slices(t, all[:min(limit, len(all))], got, "account %d, %+v: items, want the first %d of %d", account, sel, limit, all)
			size := must.Get(w.store.CountPairs(t.Context(), v, sel))(t)
			equals.Checkf(t, query.ScopeSize{Pairs: uint64(len(want)), Items: uint64(len(items)), Sites: uint64(len(sites))}, size, "account %d, %+v: size", account, sel)
		}
	}
}

// TestStateOfOneServer writes state in versions that are not merged: the newest
// counts, and the state of one shard is not mistaken for the whole. VIS-05,
// CUR-02.
func TestStateOfOneServer(t *testing.T) {
	w := newWorld(t, 6, 10)
	for _, table := range []string{"scopes", "scopes_applied", "checkpoints"} {
		w.exec("SYSTEM STOP MERGES " + table)
	}
	start := query.Watermark{Epoch: epoch, Seq: w.mark}
	for _, step := range []struct {
		exec          string
		version       uint64
		scopesApplied bool
		mark          query.Watermark
	}{
		{"INSERT INTO scopes (mandate, version, pairs) VALUES (1, 8, 3)", 8, false, start},
		{"INSERT INTO scopes_applied (mandate, partition, version) VALUES (1, 0, 8)", 8, true, start},
		{"INSERT INTO scopes_applied (mandate, partition, version) VALUES (1, 0, 9)", 8, false, start},
		{"INSERT INTO scopes (mandate, version, pairs) VALUES (1, 9, 3), (1, 0, 3)", 9, true, start},
		{"INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, 1700000001, 7)", 9, true, query.Watermark{Epoch: epoch + 1, Seq: 7}},
		{"INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, 1700000000, 9)", 9, true, query.Watermark{Epoch: epoch + 1, Seq: 7}},
	} {
		w.exec(step.exec)
		a := must.Get(w.store.Access(t.Context(), accountWhole))(t)
		mark := must.Get(w.store.Watermark(t.Context()))(t)
		if v := a.Visibility; !slices.Equal(v.Versions, []uint64{step.version}) || v.Applied != step.scopesApplied || mark != step.mark {
			t.Errorf("after %s: versions %v, applied %t, mark %v; want %d, %t, %v", step.exec, v.Versions, v.Applied, mark, step.version, step.scopesApplied, step.mark)
		}
	}
	w.exec("INSERT INTO checkpoints (stream, partition, partitions, epoch, seq) VALUES ('OBSERVATIONS', 0, 2, 1700000002, 9)")
	if mark, err := w.store.Watermark(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("with the checkpoint of one of two partitions: %v, %v", mark, err)
	}
}

// pairsUnder returns the pairs that an account sees under selectors.
func (w *world) pairsUnder(a contracts.AccountID, sel query.Selectors) (found []contracts.Pair) {
	mandate := mandateOne
	if a == accountOther {
		mandate = mandateTwo
	}
	for p := range w.scopes[mandate] {
		if w.sees(a, p) && (sel.Item == 0 || sel.Item == p.Item) && (sel.Site == "" || sel.Site == p.Site) &&
			(sel.EAN == "" || slices.Contains(itemEANs[sel.EAN], uint64(p.Item))) &&
			(sel.Order == 0 || slices.Contains(w.visibleOrders(a, p), sel.Order)) {
			found = append(found, p)
		}
	}
	return found
}
