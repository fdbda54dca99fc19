package doctor

import (
	"strings"
	"testing"

	"preismon/projector"
)

// TestRoom: a warning comes before the disk is full, where the growth of the
// tables and the free space are known.
func TestRoom(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		daily, free uint64
		drops       bool
		state       State
		says        string
	}{
		"a new one":                      {0, gib, false, OK, "the tables have 10 GiB, and 1,000 rows of observations"},
		"elsewhere":                      {gib, 0, false, OK, "a day adds 1.0 GiB"},
		"years":                          {gib, 1000 * gib, false, OK, "full in 1000 days"},
		"a month":                        {gib, 30 * gib, false, OK, "full in 30 days"},
		"three weeks":                    {gib, 21 * gib, false, Warning, "full in 21 days"},
		"a week":                         {gib, 7 * gib, false, Warning, "full in 7 days"},
		"days":                           {2 * gib, 6 * gib, false, Bad, "full in 3 days"},
		"until quarters are dropped":     {gib, 93 * gib, true, OK, "room until the next quarter is dropped"},
		"not until quarters are dropped": {gib, 21 * gib, true, Warning, "full in 21 days"},
	} {
		found := room(projector.Size{Bytes: 10 * gib, Rows: 1000, Daily: c.daily, Drops: c.drops}, c.free)
		if len(found) != 1 || found[0].State != c.state || !strings.HasSuffix(found[0].Says, c.says) || (found[0].Fix == "") != (c.state == OK) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
