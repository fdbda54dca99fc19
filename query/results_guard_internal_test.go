package query

import (
	"errors"
	"testing"

	"preismon/contracts/fault"
)

// A read with a limit of pairs of its own, as of positions, is refused by that
// limit alone: many products at a few sites and a few at many sites are few
// pairs, but many combinations.
func TestLimitOfPairs(t *testing.T) {
	positions := &resultsPlan{mostPairs: maxPositionPairs}
	latest := &resultsPlan{}
	positions.query.Latest, latest.query.Latest = NewestWhole, NewestWhole
	spread := ScopeSize{Pairs: 17_800, Items: 2_700, Sites: 103}
	for _, c := range []struct {
		what    string
		plan    *resultsPlan
		size    ScopeSize
		refused bool
	}{
		{"positions of few pairs", positions, spread, false},
		{"positions of many pairs", positions, ScopeSize{Pairs: maxPositionPairs + 1, Items: maxPositionPairs + 1, Sites: 1}, true},
		{"latestObservationPerPair", latest, spread, true},
	} {
		err := new(Service).guard(c.plan, c.size)
		if f, ok := errors.AsType[*fault.Error](err); ok != c.refused || ok && f.Code != CodeScopeTooBroad {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
