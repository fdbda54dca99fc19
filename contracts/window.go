package contracts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Window is a span of capture times, both ends included, in milliseconds: the
// precision in which captures are kept. A zero end is open.
type Window struct{ From, To time.Time }

// Resolution is the precision of capture times and windows.
const Resolution = time.Millisecond

// Length returns the time from the first to the last instant of a window that is
// closed on both sides.
func (w Window) Length() time.Duration { return w.To.Sub(w.From) }

// Whole returns the window of the whole milliseconds within w: captures have no
// others. If w lies between two of them, the result is Empty.
func (w Window) Whole() Window {
	if floor := w.From.Truncate(Resolution); !floor.Equal(w.From) {
		w.From = floor.Add(Resolution)
	}
	w.To = w.To.Truncate(Resolution)
	return w
}

// Empty reports whether the window contains no instant.
func (w Window) Empty() bool { return !w.From.IsZero() && !w.To.IsZero() && w.From.After(w.To) }

var ago = regexp.MustCompile(`^now-([1-9][0-9]{0,3})([hd])$`)

// Ago returns the instant that a text like now-24h or now-7d names: so many hours,
// or days of 24 hours, before now. ok: it is such a text.
func Ago(s string, now time.Time) (_ time.Time, ok bool) {
	match := ago.FindStringSubmatch(s)
	if match == nil {
		return time.Time{}, false
	}
	n, _ := strconv.Atoi(match[1]) // four digits
	unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour}[match[2]]
	return now.Add(-time.Duration(n) * unit), true
}

// ParseLower parses the lower bound of a window, as exactly as it is written:
// RFC 3339 with an offset, or a date, which means the first instant of that day
// in the zone.
func ParseLower(s string, loc *time.Location) (time.Time, error) {
	if day, ok := parseDate(s); ok {
		return startOfDay(day, loc), nil
	}
	return parseInstant(s)
}

// ParseUpper parses the upper bound of a window, as exactly as it is written:
// RFC 3339 with an offset, or a date, which means the last instant of that day
// in the zone (RES-02).
func ParseUpper(s string, loc *time.Location) (time.Time, error) {
	if day, ok := parseDate(s); ok {
		return endOfDay(day, loc).Add(-1), nil
	}
	return parseInstant(s)
}

// HasDay reports whether a day ever existed in a zone: a change of the date line
// skips one. It returns true for a text that is not a date.
func HasDay(s string, loc *time.Location) bool {
	day, ok := parseDate(s)
	return !ok || startOfDay(day, loc).Before(endOfDay(day, loc))
}

// firstYear keeps bounds away from the zero time, which means an open end: no
// zone is off by as much as a year.
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

// beyondAnyOffset is more than any zone's clock differs from UTC.
const beyondAnyOffset = 18 * time.Hour

// startOfDay returns the first instant of the day in the zone: where the clocks
// skip midnight, the instant of the skip; where midnight comes twice, the first
// one; where the whole day is skipped, the first instant after it.
func startOfDay(day time.Time, loc *time.Location) time.Time {
	// Walk the zone's offsets in order of time, beginning before the day can
	// have begun in any of them: the day begins in the first one that reaches
	// it.
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

// endOfDay returns the first instant after the day in the zone: where the last
// hour comes twice, the end of the second. Where the whole day is skipped, it is
// the instant of the skip.
func endOfDay(day time.Time, loc *time.Location) (last time.Time) {
	next := day.AddDate(0, 0, 1)
	// The day ends in the last of the zone's offsets that does not begin after it.
	for t := next.Add(-beyondAnyOffset); t.Before(next.Add(beyondAnyOffset)); {
		offset, end := OffsetAt(t, loc)
		midnight := next.Add(-time.Duration(offset) * time.Second)
		if midnight.After(t) {
			last = midnight
			if !end.IsZero() && end.Before(midnight) {
				last = end
			}
		}
		if end.IsZero() {
			break
		}
		t = end
	}
	return last.UTC()
}
