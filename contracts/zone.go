package contracts

import (
	"fmt"
	"regexp"
	"sync"
	"time"
	_ "time/tzdata" // so that zones are known on a machine without a zone database
)

// zoneName is the form of IANA names. A zone database folder has more files than
// zones: localtime, posixrules, and right/ with leap seconds, which the time
// package reads wrongly.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// zones holds the *time.Location of each name loaded so far: there are about
// six hundred, and loading one reads a file.
var zones sync.Map

// LoadZone finds an IANA zone by its exact name, in the machine's database, or
// in the program's own if the machine has none. Offsets, abbreviations that are
// not zones, "Local" and the empty name are errors.
func LoadZone(name string) (*time.Location, error) {
	if zoneName.MatchString(name) && name != "Local" && name != "Factory" { // Factory is the zone of a machine that has none configured
		if loc, ok := zones.Load(name); ok {
			return loc.(*time.Location), nil
		}
		if loc, err := time.LoadLocation(name); err == nil {
			zones.Store(name, loc)
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%q is not an IANA time zone like Europe/Berlin", name)
}

// OffsetAt returns a zone's seconds east of UTC at an instant, and a later
// instant up to which they apply; zero: for ever.
func OffsetAt(t time.Time, loc *time.Location) (offset int, end time.Time) {
	_, offset = t.In(loc).Zone()
	_, end = t.In(loc).ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// The zone's last rules are computed year by year, with 365 days each:
		// on the last day of a leap year the end is in the past.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return offset, end
}
