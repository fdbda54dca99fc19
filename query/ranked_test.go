package query

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The position in a ranking survives its cursor; what is no position does not become
// one, and the position of a counting cursor keeps its count.
func TestRankedPosition(t *testing.T) {
	all := cmp.AllowUnexported(rankedPosition{}, rankKey{}, ratio{})
	for _, want := range []rankedPosition{
		{Until: 1_772_971_200_000, Watermark: Watermark{Epoch: 1_700_000_000, Seq: 8}, after: &rankKey{ratio{-250, 1300}, 11, "DE EUR"}},
		{Until: math.MinInt64, Floor: -1, Watermark: Watermark{Epoch: math.MaxUint32, Seq: math.MaxUint64}, after: &rankKey{ratio{math.MaxInt64, 0}, math.MaxUint64, ""}},
	} {
		state, err := json.Marshal(want)
		var got rankedPosition
		if err == nil {
			err = json.Unmarshal(state, &got)
		}
		if diff := cmp.Diff(want, got, all); diff != "" || err != nil {
			t.Errorf("%s: %v %s", state, err, diff)
		}
	}
	var old rankedPosition
	if err := json.Unmarshal([]byte(`{"u":5,"w":{"e":1,"s":2},"p":3}`), &old); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(rankedPosition{Until: 5, Watermark: Watermark{1, 2}, Past: 3}, old, all); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{`""`, `"AAAA"`, `"!"`, `7`, `[]`, `{"u":"x"}`} {
		if err := json.Unmarshal([]byte(wrong), new(rankedPosition)); err == nil {
			t.Errorf("%s is taken for a position", wrong)
		}
	}
}
