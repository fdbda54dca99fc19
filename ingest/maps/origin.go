package maps

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Where the capture time of all rows of a file comes from
// (columns.capturedAt.from).
const (
	fromFileName     = "fileName"     // the day in its name
	fromFileNameTime = "fileNameTime" // the day and the time of day in its name
	fromFileTime     = "fileTime"     // when it was last changed
)

// origins describes for people where the time then comes from.
var origins = map[string]string{
	fromFileName:     "the day in the file's name",
	fromFileNameTime: "the day and time in the file's name",
	fromFileTime:     "the file's time",
}

// originLayouts are the forms of these times, with and without a time of day.
var originLayouts = []string{"rfc3339", "datetime", "2006-01-02 15:04", "2006-01-02 15:04 Uhr", "2006-01-02 15:04:05 Uhr", "day"}

// checkOrigin checks that a capture time comes from exactly one place.
func (t *Time) checkOrigin(f *contracts.Faults) {
	n := len(slices.DeleteFunc([]string{t.Column, t.Value, t.From}, func(said string) bool { return said == "" }))
	f.Check(n > 0, "columns.capturedAt: missing; name its column, a fixed {value: 2026-10-31}, or {from: fileName} or {from: fileTime}")
	f.Check(n < 2, "columns.capturedAt: more than one of column, value, from")
	f.Check(t.Clock == "" || t.From != fromFileNameTime && t.From != fromFileTime, "columns.capturedAt.clock: %s has a time of day already", t.From)
	f.Check(t.From == "" || origins[t.From] != "", "columns.capturedAt.from: %q is none of %s, %s, %s", t.From, fromFileName, fromFileNameTime, fromFileTime)
	f.Check(t.From == "" || len(t.Layouts) == 0, "columns.capturedAt.layouts: belong to a column or a value")
	f.Check(t.From != fromFileName && t.From != fromFileNameTime || t.Zone != "", "columns.capturedAt.zone: missing; the day in a file's name has no zone, so say which one to assume")
}

// origin describes for people where the time of all rows comes from; empty:
// from a column.
func (t *Time) origin() string { return cmp.Or(origins[t.From], t.Value) }

// ofFile returns the capture time of all rows of a file, as a text in one of
// the layouts; empty: a column has it. Errors are Invalid.
func (t *Time) ofFile(file string) (string, error) {
	switch t.From {
	case fromFileName:
		day, _ := timeIn(filepath.Base(file))
		if day == "" {
			return "", fault.New(fault.Invalid, "", "the name %q has no day like 2026-10-31, which columns.capturedAt.from: %s asks for", filepath.Base(file), fromFileName)
		}
		return day, nil
	case fromFileNameTime:
		day, clock := timeIn(filepath.Base(file))
		if clock == "" {
			return "", fault.New(fault.Invalid, "", "the name %q has no day and time like 2026-10-31_0615, which columns.capturedAt.from: %s asks for", filepath.Base(file), fromFileNameTime)
		}
		return day + "T" + clock, nil
	case fromFileTime:
		info, err := os.Stat(file)
		if err != nil {
			return "", unreadable(err)
		}
		if !timed(info) {
			return "", fault.New(fault.Invalid, "", "%s has no time of its own, which columns.capturedAt.from: %s asks for", info.Name(), fromFileTime)
		}
		return info.ModTime().UTC().Truncate(time.Second).Format(time.RFC3339), nil
	}
	return t.Value, nil
}

// originOf guesses where the capture time of a file without a column for it
// comes from; empty: unknown. Its rows may have a time of day.
func originOf(file string, clocked bool) string {
	switch day, clock := timeIn(filepath.Base(file)); {
	case clock != "" && !clocked:
		return fromFileNameTime
	case day != "":
		return fromFileName
	}
	if info, err := os.Stat(file); err == nil && timed(info) {
		return fromFileTime
	}
	return ""
}

// timed reports whether a file has a time: one that came through a pipe has
// none, and a ZIP need not keep one.
func timed(info os.FileInfo) bool { return info.ModTime().Year() >= 2000 }

// timeIn finds the day in a file's name (2026-10-31, 20261031 or 31.10.2026), and
// the time of day behind it (_061502, T0615Z, 06.15); empty: there is none.
func timeIn(name string) (day, clock string) {
	m := yearFirst.FindStringSubmatch(name)
	if m != nil {
		day = m[2] + "-" + m[3] + "-" + m[4]
	} else if m = yearLast.FindStringSubmatch(name); m != nil {
		day = m[4] + "-" + m[3] + "-" + m[2]
	}
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return "", ""
	}
	if m[5] != "" {
		clock = m[5] + ":" + m[6] + ":" + cmp.Or(m[7], "00") + m[8]
	}
	return day, clock
}

// writeOrigin writes where the capture time comes from, which is always
// an assumption.
func (g *guesser) writeOrigin(where countryDefaults) {
	clock, clocked := g.columns["clock"]
	g.put("  capturedAt:\n    from: %s\n", g.origin)
	switch g.origin {
	case fromFileNameTime:
		g.put("    zone: %s\n", where.zone)
		g.assume("no column says when a price was seen: assuming the day and time in the file's name, in %s (columns.capturedAt.from and zone, or a fixed value)", where.zone)
		return
	case fromFileTime:
		g.assume("no column says when a price was seen: assuming the time of the file, which a copy may not keep (columns.capturedAt.from, or a fixed value)")
		return
	}
	g.put("    zone: %s\n", where.zone)
	g.assume("no column says on which day a price was seen: assuming the day in the file's name, in %s (columns.capturedAt.from and zone, or a fixed value)", where.zone)
	if clocked {
		g.put("    clock: %s\n", scalar(g.header[clock]))
		return
	}
	g.put("    dayTime: \"12:00\"\n")
	g.assume("the file has a day without a time: assuming noon (columns.capturedAt.dayTime)")
}
