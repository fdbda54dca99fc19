package main

import (
	"cmp"
	"slices"
)

func (r *realRow) coverageState() string {
	if r.unavailable {
		return "UNAVAILABLE"
	}
	return "PRICE_OBSERVED"
}

// refusal is the code with which a latest read over too much is refused
// (RES-07a, RES-08), or nothing.
func (q *realQuestion) refusal() string {
	if q.latest == "" || q.site == -2 {
		return ""
	}
	pairs, items, sites := 0, map[int32]bool{}, map[int32]bool{}
	for n, it := range q.w.items {
		if q.items != nil && !q.items[int32(n)] {
			continue
		}
		for s := range it.sites {
			if q.site < 0 || q.site == s {
				pairs++
				items[int32(n)], sites[s] = true, true
			}
		}
	}
	switch {
	case q.latest == "latestPerPair" && pairs > 1000:
		return "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD"
	case q.latest == "latestObservationPerPair" && len(items)*len(sites) > 250_000:
		return "RESULTS_SCOPE_TOO_BROAD"
	}
	return ""
}

// standing compares two offers of a capture by which of them stands for it:
// buy box, lowest total, lowest price. Each capture has one currency.
func (w *realWorld) standing(i, j int32) int {
	worse := func(yes, no bool) int {
		if yes == no {
			return 0
		} else if yes {
			return -1
		}
		return 1
	}
	a, b := &w.rows[i], &w.rows[j]
	box := func(r *realRow) bool { return w.sites[r.site].key == "amazon.it" && r.boxKnown && r.buyBox }
	priced, total := func(r *realRow) bool { return r.price >= 0 }, func(r *realRow) bool { return r.price >= 0 && r.shipping >= 0 }
	order := cmp.Or(worse(box(a), box(b)), worse(total(a), total(b)), worse(priced(a), priced(b)))
	if order != 0 || !priced(a) {
		return order
	}
	if total(a) {
		order = cmp.Compare(a.price+a.shipping, b.price+b.shipping)
	}
	return cmp.Or(order, cmp.Compare(a.price, b.price))
}

// answer gives the rows, in no order (RES-P11, RES-P12a, RES-P12b).
func (q *realQuestion) answer() []int32 {
	w := q.w
	candidates := w.byTime
	switch {
	case q.site == -2:
		return nil
	case q.items != nil:
		candidates = nil
		for n := range q.items {
			candidates = append(candidates, w.items[n].rows...)
		}
		w.sortByTime(candidates)
	case q.site >= 0:
		candidates = w.sites[q.site].rows
	}
	first, _ := slices.BinarySearchFunc(candidates, q.lo, func(n int32, ms int64) int { return cmp.Compare(w.rows[n].ms, ms) })
	var rows []int32
	kept := func(n int32) bool {
		return !slices.ContainsFunc(q.keep, func(keep func(*realRow) bool) bool { return !keep(&w.rows[n]) })
	}
	for _, n := range candidates[first:] {
		r := &w.rows[n]
		if r.ms > q.hi {
			break
		}
		if (q.site < 0 || q.site == r.site) && q.from(r.ms) && q.to(r.ms) && (q.latest == "latestObservationPerPair" || kept(n)) {
			rows = append(rows, n)
		}
	}
	if q.latest == "" {
		return rows
	}
	type pair struct{ site, item int32 }
	newest := map[pair][]int32{}
	for _, n := range rows { // by time, then as in the file
		p := pair{w.rows[n].site, w.rows[n].item}
		if have := newest[p]; len(have) > 0 && w.rows[have[0]].ms < w.rows[n].ms {
			newest[p] = nil
		}
		newest[p] = append(newest[p], n)
	}
	rows = nil
	for _, set := range newest {
		if q.latest == "latestPerPair" {
			rows = append(rows, slices.MinFunc(set, w.standing)) // of several the first
			continue
		}
		for _, n := range set {
			if kept(n) {
				rows = append(rows, n)
			}
		}
	}
	return rows
}
