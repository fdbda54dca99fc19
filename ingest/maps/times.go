package maps

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"preismon/contracts"
)

// layout is one accepted form of a time.
type layout struct {
	form    string // for time.Parse; empty: a number
	perUnit int64  // milliseconds per unit of the number; 0: days, as Excel counts them
	zoned   bool   // the text itself includes the zone
	day     bool   // the text has no time of day
	month   bool   // it has the name of a month
}

func newLayout(form string) layout {
	return layout{form: form, month: strings.Contains(form, "Jan")}
}

var namedLayouts = map[string][]layout{
	"rfc3339": {
		{form: time.RFC3339, zoned: true},
		{form: "2006-01-02 15:04:05Z07:00", zoned: true},
		{form: "2006-01-02 15:04:05Z07", zoned: true}, // as Postgres writes it
	},
	"datetime": {
		{form: "2006-01-02T15:04:05"},
		{form: "2006-01-02 15:04:05"},
	},
	"day":        {{form: time.DateOnly, day: true}},
	"unix":       {{perUnit: 1000, zoned: true}},
	"unixMillis": {{perUnit: 1, zoned: true}},
	"excel":      {{}},
}

// germanMonths are the German names of months that differ from the English ones,
// in lower case.
var germanMonths = map[string]string{
	"januar": "January", "jänner": "January", "jän": "Jan", "februar": "February", "feber": "February", "märz": "March", "maerz": "March",
	"mär": "Mar", "mrz": "Mar", "mai": "May", "juni": "June", "juli": "July", "sept": "Sep", "oktober": "October", "okt": "Oct",
	"dezember": "December", "dez": "Dec",
}

var word = regexp.MustCompile(`\pL+`)

// inEnglish returns a text with the English names of months.
func inEnglish(s string) string {
	return word.ReplaceAllStringFunc(s, func(w string) string { return cmp.Or(germanMonths[strings.ToLower(w)], w) })
}

// excelDay reads a day as Excel stores it, the number of days since 1900, with
// the time of day as its fraction.
func excelDay(s string) (at time.Time, whole, ok bool) {
	days, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	if err != nil || !(days >= 1 && days < 1e6) {
		return time.Time{}, false, false
	}
	since := time.Duration(days * float64(24*time.Hour)).Round(time.Second)
	return time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Add(since), days == math.Trunc(days), true
}

// compile checks and compiles layouts, zone and time of day.
func (t *Time) compile(f *contracts.Faults, sites map[string]Site, other Site) {
	zoned := false
	zone := func(path, name string) (loc *time.Location) {
		if name != "" {
			var err error
			loc, err = location(name)
			f.Under(path+".zone", err)
			zoned = true
		}
		return loc
	}
	for _, value := range slices.Sorted(maps.Keys(sites)) {
		zone("sites."+value, sites[value].Zone)
	}
	zone("defaultSite", other.Zone)
	t.zone = zone("columns.capturedAt", t.Zone)
	names := t.Layouts
	switch {
	case t.From != "":
		names = originLayouts
	case len(names) == 0:
		names = []string{"rfc3339", "datetime", "day"}
	}
	for _, name := range names {
		if named, ok := namedLayouts[name]; ok {
			t.layouts = append(t.layouts, named...)
			continue
		}
		l, err := compileLayout(name)
		if err != nil {
			f.Under("columns.capturedAt.layouts", err)
			continue
		}
		t.layouts = append(t.layouts, l)
	}
	if len(t.Layouts) > 0 && !zoned {
		zoneless := slices.ContainsFunc(t.layouts, func(l layout) bool { return !l.zoned })
		f.Check(!zoneless, "columns.capturedAt.zone: missing; a layout has no zone, so say which one to assume")
	}
	t.dayTime = 12 * time.Hour
	if t.DayTime != "" {
		at, err := time.Parse("15:04", t.DayTime)
		f.Check(err == nil, "columns.capturedAt.dayTime: %q is not a time like 12:00", t.DayTime)
		t.dayTime = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
}

func location(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, fmt.Errorf("the zone of this machine means another instant on the next one; name a zone")
	}
	return contracts.LoadZone(name)
}

// compileLayout finds out what a layout includes by formatting a time with it
// and parsing the result. The offset of that time is one of whole hours, which
// each form of offsets can show, and its zone has a name that none can read.
func compileLayout(form string) (layout, error) {
	const offset = 5 * 3600
	ref := time.Date(2013, 11, 24, 17, 38, 0, 0, time.FixedZone("none", offset))
	got, err := time.ParseInLocation(form, ref.Format(form), time.UTC)
	if err != nil || got.Year() != 2013 || got.Month() != 11 || got.Day() != 24 {
		return layout{}, fmt.Errorf("%q is neither a layout like \"02.01.2006 15:04\" nor one of %s", form, strings.Join(slices.Sorted(maps.Keys(namedLayouts)), ", "))
	}
	_, seconds := got.Zone()
	l := newLayout(form)
	l.zoned, l.day = seconds == offset, got.Hour() == 0 && got.Minute() == 0
	return l, nil
}

// moment is the time that a text represents, and what had to be assumed.
type moment struct {
	ms       int64 // Unix milliseconds
	zoneless bool  // the zone was assumed
	day      bool  // the time of day was assumed
	shifted  bool  // a clock change makes the local time ambiguous or nonexistent
}

// parse reads a capture time; zone is the one to assume, or nil. If it cannot
// be read the cause is timeUnread or timeZoneless; nil: it was read.
func (t *Time) parse(s string, zone *time.Location) (moment, *cause) {
	for i := range t.layouts {
		l := &t.layouts[i]
		if l.perUnit > 0 {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n < 0 || n > 1<<43/l.perUnit {
				continue
			}
			return moment{ms: n * l.perUnit}, nil
		}
		at, day, ok := l.read(s)
		if !ok {
			continue
		}
		if l.zoned {
			return moment{ms: at.UnixMilli()}, nil
		}
		if zone == nil {
			return moment{}, timeZoneless
		}
		m := moment{zoneless: true, day: day}
		wall := at // as UTC
		if day {
			wall = at.Add(t.dayTime)
		}
		at = time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
		m.ms = at.UnixMilli()
		if zone != time.UTC && !day {
			m.shifted = !sameClock(at, wall) || sameClock(at.Add(time.Hour), wall) || sameClock(at.Add(-time.Hour), wall)
		}
		return m, nil
	}
	return moment{}, timeUnread
}

// read reads a text that names a time or a day.
func (l *layout) read(s string) (at time.Time, day, ok bool) {
	if l.form == "" {
		return excelDay(s)
	}
	if l.month {
		s = inEnglish(s)
	}
	at, err := time.Parse(l.form, s)
	return at, l.day, err == nil
}

func sameClock(a, b time.Time) bool {
	return a.Day() == b.Day() && a.Hour() == b.Hour() && a.Minute() == b.Minute()
}
