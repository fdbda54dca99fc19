package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"preismon/projector"
)

// kept checks from when on the tables keep rows, and how old the oldest are.
func (s *Site) kept(ctx context.Context) []Finding {
	const check = "rows kept"
	floor, err := projector.FloorOf(ctx, s.Tables, s.Partition)
	if err != nil {
		return nil // reported already: no answer, or another schema
	}
	quarters, err := projector.Quarters(ctx, s.Tables)
	switch plain := errors.Is(err, projector.ErrNotByQuarter); {
	case plain && floor.IsZero():
		return one(check, OK, "", "all; --keep-rows needs tables that lie by quarters, as \"preismon rebuild\" makes them")
	case plain:
		return one(check, Warning, s.command("rebuild"), "those captured from %s on are; older ones stay on the disk, for the tables do not lie by quarters", floor.Format(time.DateOnly))
	case err != nil:
		return one(check, Unknown, s.command("audit"), "%v", err)
	case floor.IsZero():
		return one(check, OK, "", "all; --keep-rows AGE or --keep-rows-size MIB of the projector removes old ones")
	}
	var waiting []string
	for _, of := range quarters {
		for _, q := range of {
			if q.First.Before(floor) {
				waiting = append(waiting, q.First.Format(time.DateOnly))
			}
		}
	}
	slices.Sort(waiting)
	if waiting = slices.Compact(waiting); len(waiting) > 0 {
		return one(check, OK, "", "those captured from %s on; the leader is about to remove the quarters from %s", floor.Format(time.DateOnly), strings.Join(waiting, ", "))
	}
	return one(check, OK, "", "those captured from %s on, and no others", floor.Format(time.DateOnly))
}
