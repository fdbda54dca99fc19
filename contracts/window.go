package contracts

import (
	"fmt"
	"strings"
	"time"
)

// Window is a span of capture times, both ends included, in milliseconds: the
// precision captures are kept in. A zero end is open.
type Window struct{ From, To time.Time }

// Resolution is the precision of capture times and windows.
const Resolution = time.Millisecond

// Length is the time from the first to the last instant of a window that is
// closed on both sides.
func (w Window) Length() time.Duration { return w.To.Sub(w.From) }

// ParseLower reads the lower bound of a window: RFC 3339 with an offset, or a
// date, which begins with the first instant of that day in the zone.
func ParseLower(s string, loc *time.Location) (time.Time, error) {
	if day, ok := parseDate(s); ok {
		return startOfDay(day, loc), nil
	}
	t, err := parseInstant(s)
	if err != nil {
		return time.Time{}, err
	}
	if floor := t.Truncate(Resolution); !floor.Equal(t) {
		t = floor.Add(Resolution) // captures have whole milliseconds: the first one inside
	}
	return t, nil
}

// ParseUpper reads the upper bound of a window: RFC 3339 with an offset, or a
// date, which ends with the last millisecond of that day in the zone (RES-02).
func ParseUpper(s string, loc *time.Location) (time.Time, error) {
	if day, ok := parseDate(s); ok {
		return startOfDay(day.AddDate(0, 0, 1), loc).Add(-Resolution), nil
	}
	t, err := parseInstant(s)
	if err != nil {
		return time.Time{}, err
	}
	return t.Truncate(Resolution), nil
}

// firstYear keeps bounds away from the zero time, which is an open end: no
// zone is a year behind.
const firstYear = 2

func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil && t.Year() >= firstYear
}

func parseInstant(s string) (time.Time, error) {
	upper := strings.ToUpper(s) // RFC 3339 allows lower-case letters; Go's parser does not
	t, err := time.Parse(time.RFC3339Nano, upper)
	if err != nil || !IsRFC3339(upper) {
		return time.Time{}, fmt.Errorf("%q is neither RFC 3339 with an offset, like 2026-03-01T08:00:00Z, nor a date like 2026-03-01", s)
	}
	if t = t.UTC(); t.Year() < firstYear {
		return time.Time{}, fmt.Errorf("%q lies before the year %d", s, firstYear)
	}
	return t, nil
}

// startOfDay is the first instant of the day in the zone: where the clocks
// skip midnight, the instant of the skip; where midnight comes twice, the
// first of them; where the whole day is skipped, the first instant after it.
func startOfDay(day time.Time, loc *time.Location) time.Time {
	// Walk the zone's offsets in order of time, from before any offset could
	// have begun the day: the day begins in the first one that reaches it.
	const beyondAnyOffset = 18 * time.Hour
	for t := day.Add(-beyondAnyOffset); ; {
		offset, end := OffsetAt(t, loc)
		start := day.Add(-time.Duration(offset) * time.Second)
		if start.Before(t) {
			start = t
		}
		if end.IsZero() || start.Before(end) {
			return start.UTC()
		}
		t = end
	}
}
