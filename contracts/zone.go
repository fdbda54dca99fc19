package contracts

import (
	"fmt"
	"regexp"
	"time"
	_ "time/tzdata" // so that zones are known on a machine without a zone database
)

// zoneName is the form of IANA names. A folder of zones has more files than
// zones: localtime, posixrules, and right/ with leap seconds, which the time
// package reads wrongly.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// LoadZone finds an IANA zone by its exact name, by the rules of the machine's
// database, or of the program where there is none. Offsets, abbreviations that
// are no zone, "Local" and the empty name are errors.
func LoadZone(name string) (*time.Location, error) {
	if zoneName.MatchString(name) && name != "Local" && name != "Factory" { // the zone of a machine that was told none
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%q is not an IANA time zone like Europe/Berlin", name)
}

// OffsetAt gives the seconds east of UTC in a zone at an instant, and an
// instant after it up to which they hold; zero: for ever.
func OffsetAt(t time.Time, loc *time.Location) (offset int, end time.Time) {
	_, offset = t.In(loc).Zone()
	_, end = t.In(loc).ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		// The last rules of a zone are told year by year, and a year has 365
		// days there: on the last day of a leap year its end is in the past.
		end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return offset, end
}
