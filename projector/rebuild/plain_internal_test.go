package rebuild

import (
	"errors"
	"strings"
	"testing"
)

// TestPlain: none of our tests runs replicated tables, so their engines are
// judged by the names that system.tables returns.
func TestPlain(t *testing.T) {
	for name, c := range map[string]struct {
		engines map[string]string
		refused string
	}{
		"of one server":    {map[string]string{"observations": "ReplacingMergeTree", "sites": "ReplacingMergeTree"}, ""},
		"of a shard":       {map[string]string{"observations": "ReplacingMergeTree", "observations_all": "Distributed"}, ""},
		"with replicas":    {map[string]string{"observations": "ReplicatedReplacingMergeTree", "observations_all": "Distributed"}, "observations is a ReplicatedReplacingMergeTree"},
		"one with them":    {map[string]string{"observations": "ReplacingMergeTree", "sites": "ReplicatedMergeTree"}, "sites is a ReplicatedMergeTree"},
		"there are no any": {nil, ""},
	} {
		err := plain(c.engines)
		if c.refused == "" && err != nil || c.refused != "" && (!errors.Is(err, ErrReplicated) || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "Run on more than one machine")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
