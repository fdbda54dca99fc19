package query_test

import (
	"testing"

	"preismon/query"
)

// TestHealth judges orders by their pairs (QUAL-01b). A product that was not
// found is an answer of the market, not a failure (QUAL-05).
func TestHealth(t *testing.T) {
	type pairs map[query.Reason]int
	for _, c := range []struct {
		pairs       pairs
		conflicting bool
		want        query.Health
		observed    int
	}{
		{pairs{}, false, query.HealthUnknown, 0},
		{pairs{}, true, query.HealthUnknown, 0},
		{pairs{query.ReasonPending: 5, query.ReasonUnknown: 5}, false, query.HealthUnknown, 0},
		{pairs{query.ReasonPriceObserved: 1}, false, query.HealthOK, 1},
		{pairs{query.ReasonProductNotFound: 7}, false, query.HealthOK, 7},
		{pairs{query.ReasonProductUnavailable: 3, query.ReasonPriceObserved: 2}, false, query.HealthOK, 5},
		{pairs{query.ReasonPriceObserved: 1}, true, query.HealthDegraded, 1},
		{pairs{query.ReasonPriceObserved: 9, query.ReasonOverdue: 1}, false, query.HealthOK, 9}, // one of ten
		{pairs{query.ReasonPriceObserved: 8, query.ReasonOverdue: 1}, false, query.HealthDegraded, 8},
		{pairs{query.ReasonPriceObserved: 8, query.ReasonAccessRestricted: 1, query.ReasonPending: 1}, false, query.HealthDegraded, 8},
		{pairs{query.ReasonSiteUnavailable: 1}, false, query.HealthDegraded, 0},
	} {
		q := query.QualitySummary{SourceCountsConsistent: !c.conflicting}
		n := 0
		for r, count := range c.pairs {
			q.Pairs[r] = count
			n += count
		}
		if got := q.Health(); got != c.want || q.Observed() != c.observed || q.Configured() != n {
			t.Errorf("%v: %s, observed %d, configured %d", c, got, q.Observed(), q.Configured())
		}
	}
}
