package maps

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"preismon/contracts/fault"
)

// timeForm is how the times of a column are written.
type timeForm struct {
	name   string // as in a mapping
	zoned  bool
	day    bool // without a time of day
	number bool
	swap   string // the form with day and month swapped, if it fits all of them too
}

// dateForms are tried in this order, each with every clock; day before month where
// both fit.
var dateForms = []string{
	"2006-01-02", "2006/01/02", "2.1.2006", "2.1.06", "2/1/2006", "2/1/06", "2-1-2006", "2-1-06",
	"1/2/2006", "1/2/06", "1-2-2006", "1-2-06", "1.2.2006", "1.2.06",
	"2 Jan 2006", "2 January 2006", "2-Jan-2006", "2-Jan-06", "2. Jan 2006", "2. Jan. 2006", "2. January 2006",
	"Jan 2, 2006", "Jan 2 2006", "January 2, 2006", "January 2 2006",
}

// monthFirst turns the forms with the day first, which some write with the month
// first, into those; a day with dots is always first.
var monthFirst = strings.NewReplacer("2/1/", "1/2/", "2-1-", "1-2-")

// clocks are the times of day behind a date; the last: none.
var clocks = []string{
	" 15:04:05", " 15:04", ", 15:04:05", ", 15:04", " 3:04:05 PM", " 3:04 PM", ", 3:04:05 PM", ", 3:04 PM",
	" 15:04:05 Uhr", " 15:04 Uhr", " 15.04 Uhr", ", 15:04 Uhr", ", 15.04 Uhr", "",
}

// timeForms are all forms that a guess knows, those with a name first.
var timeForms = allTimeForms()

func allTimeForms() []timeForm {
	forms := []timeForm{
		{name: "rfc3339", zoned: true},
		{name: "datetime"},
		{name: "2006-01-02T15:04"},
		{name: "2006-01-02T15:04:05.000"},
		{name: "2006-01-02 15:04:05.000"},
		{name: "day", day: true},
		{name: "20060102", day: true},
		{name: "unix", zoned: true, number: true},
		{name: "unixMillis", zoned: true, number: true},
		{name: "excel", day: true, number: true},
	}
	for _, date := range dateForms {
		for _, clock := range clocks {
			f := timeForm{name: date + clock, day: clock == ""}
			if swapped := monthFirst.Replace(f.name); swapped != f.name {
				f.swap = swapped
			}
			forms = append(forms, f)
		}
	}
	return forms
}

// formsOf finds the forms in which at least nine of ten texts are times, the
// most common one first; nil: there are none.
func formsOf(texts []string) []timeForm {
	rows := map[string]int{}
	for _, v := range texts {
		rows[v]++
	}
	var forms []timeForm
	rest, left := distinct(texts), len(texts)
	for len(rest) > 0 && len(forms) < 4 {
		f, n := commonest(rest, rows, forms)
		if n == 0 || len(forms) > 0 && 2*n < left {
			break
		}
		left -= n
		forms = append(forms, f)
		rest = slices.DeleteFunc(slices.Clone(rest), f.reads)
	}
	if 10*left > len(texts) {
		return nil
	}
	return forms
}

// commonest returns the form that fits the most rows, and how many, given the rows
// of each value: the first if several fit as many. Alongside a form it does not return one with day and
// month swapped.
func commonest(values []string, rows map[string]int, used []timeForm) (best timeForm, most int) {
	for _, f := range timeForms {
		if slices.ContainsFunc(used, f.swaps) {
			continue
		}
		n := 0
		for _, v := range values {
			if f.reads(v) {
				n += rows[v]
			}
		}
		if n <= most {
			continue
		}
		swapped := timeForm{name: f.swap}
		if f.swap != "" && slices.ContainsFunc(values, func(v string) bool { return f.reads(v) && !swapped.reads(v) }) {
			f.swap = ""
		}
		best, most = f, n
	}
	return best, most
}

// swaps reports whether two forms differ in what comes first, day or month.
func (f *timeForm) swaps(other timeForm) bool {
	a, b := f.name, other.name
	return a[0] != b[0] && a[0] == b[2] && a[1] == b[1] && a[2] == b[0]
}

// formOf returns the form of the most texts; nil: none fits, or too few texts have
// a known form.
func formOf(texts []string) *timeForm {
	forms := formsOf(texts)
	if len(forms) == 0 {
		return nil
	}
	return &forms[0]
}

// reads reports whether a text is a time in the form, in this century.
func (f *timeForm) reads(s string) bool {
	t := Time{}
	named, ok := namedLayouts[f.name]
	if !ok {
		if !alike(f.name, s) {
			return false
		}
		named = []layout{newLayout(f.name)}
	}
	t.layouts = named
	t.dayTime = 12 * time.Hour
	m, why := t.parse(s, time.UTC)
	return why == nil && m.ms > time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() && m.ms < time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// alike reports whether two texts are the same but for the length and content of
// their numbers and words. Most texts are told from a form by that, which is fast.
func alike(a, b string) bool {
	for a != "" && b != "" {
		var x, y byte
		x, a = firstRun(a)
		if y, b = firstRun(b); x != y {
			return false
		}
	}
	return a == b
}

// firstRun returns '0' for a number and 'a' for a word at the beginning of a text,
// or else its first byte, and what follows.
func firstRun(s string) (kind byte, rest string) {
	kind = kindOf(s[0])
	n := 1
	for (kind == '0' || kind == 'a') && n < len(s) && kindOf(s[n]) == kind {
		n++
	}
	return kind, s[n:]
}

func kindOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return '0'
	case c|0x20 >= 'a' && c|0x20 <= 'z', c >= 0x80:
		return 'a'
	}
	return c
}

// unreadTime refuses a file with a column that is named like a time, but cannot be
// read as one: without it, all prices would be of one time, or of noon.
func (g *guesser) unreadTime() error {
	at, dated := g.columns["capturedAt"]
	clock, clocked := g.columns["clock"]
	if dated && clocked && g.joined(clock) == nil {
		return g.refuseTime(clock, fmt.Sprintf("{column: %q, clock: %q", g.header[at], g.header[clock]))
	}
	for i, h := range g.header {
		name := plainName(h)
		switch day, hour := slices.Contains(namesOf("capturedAt"), name), slices.Contains(namesOf("clock"), name); {
		case len(g.values(i)) == 0 || clocked && i == clock || !day && !hour:
		case !dated:
			return g.refuseTime(i, fmt.Sprintf("{column: %q", h))
		case day && !slices.Contains(namesOf("capturedAt"), plainName(g.header[at])):
			g.assume("%q in column %q is in no known form of a time: the column is not used (columns.capturedAt.column and layouts)", cut(g.unreadValue(i), 40), h)
		}
	}
	if g.origin == fromFileTime && clocked {
		return fault.New(fault.Invalid, "", "column %q has times of day, but no column has the day: put it into the file's name, like prices-2026-10-31.csv", g.header[clock])
	}
	return nil
}

func (g *guesser) refuseTime(column int, mapped string) error {
	return fault.New(fault.Invalid, "", "column %q is named like a time, but %q in it is in no known form: give a mapping by --map (--example-map explains one) with columns.capturedAt: %s, layouts: [\"...\"], zone: Europe/Berlin}, "+
		"where the layout is the time 2006-01-02 15:04:05 in the form of the file, or with {from: fileTime} if the column does not say when a price was seen",
		g.header[column], cut(g.unreadValue(column), 40), mapped)
}

// unreadValue returns a value of a column that is in no known form of a time, or
// else its first value.
func (g *guesser) unreadValue(column int) string {
	values := g.values(column)
	unread := func(v string) bool {
		return !isClock(v) && !slices.ContainsFunc(timeForms, func(f timeForm) bool { return f.reads(v) })
	}
	return values[max(0, slices.IndexFunc(values, unread))]
}

func (g *guesser) writeTime(where countryDefaults) {
	if g.origin != "" {
		g.writeOrigin(where)
		return
	}
	texts := g.of("capturedAt")
	g.put("  capturedAt:\n    column: %s\n", scalar(g.name("capturedAt")))
	if g.has("clock") {
		g.put("    clock: %s\n", scalar(g.name("clock")))
		texts = g.joined(g.columns["clock"])
	}
	forms := formsOf(texts)
	names := make([]string, len(forms))
	zoned, day := true, false
	for i, f := range forms {
		names[i] = f.name
		zoned, day = zoned && f.zoned, day || f.day
	}
	g.put("    layouts: [%s]\n", list(names))
	if len(forms) > 1 {
		g.assume("times are written in several forms: they are read as %s (columns.capturedAt.layouts)", strings.Join(names, ", then "))
	}
	if !zoned {
		g.put("    zone: %s\n", where.zone)
		g.assume("times have no zone: assuming %s (columns.capturedAt.zone)", where.zone)
	}
	if day {
		g.put("    dayTime: \"12:00\"\n")
		g.assume("the file has days without a time: assuming noon (columns.capturedAt.dayTime)")
	}
	g.assumeOrder(texts, forms)
}

// assumeOrder reports what the numbers of dates are taken for, where they could be
// something else.
func (g *guesser) assumeOrder(texts []string, forms []timeForm) {
	like := func(f timeForm) string { return texts[slices.IndexFunc(texts, f.reads)] }
	for _, f := range forms {
		switch {
		case f.name == "excel":
			g.assume("numbers like %q are read as days since 1900, as Excel stores them (columns.capturedAt.layouts: excel)", like(f))
		case strings.HasPrefix(f.name, "2-1-06"):
			g.assume("dates like %q may have the year first: assuming that it is last (columns.capturedAt.layouts: %q)", like(f), strings.Replace(f.name, "2-1-06", "06-1-2", 1))
		}
	}
	if i := slices.IndexFunc(forms, func(f timeForm) bool { return f.swap != "" }); i >= 0 {
		g.assume("dates like %q may have the month first: assuming that the day is first (columns.capturedAt.layouts: %q)", like(forms[i]), forms[i].swap)
	}
}

// joined returns the days and times of day together that are times, both of rows
// with a time of day and of rows without; nil: less than half of them are. A row
// with an invalid time will be rejected, and its line named.
func (g *guesser) joined(clock int) []string {
	var both []string
	wrong := 0
	for _, row := range g.rows {
		at := strings.TrimSpace(strings.TrimSpace(row[g.columns["capturedAt"]]) + " " + strings.TrimSpace(row[clock]))
		if slices.ContainsFunc(timeForms, func(f timeForm) bool { return f.reads(at) }) {
			both = append(both, at)
		} else {
			wrong++
		}
	}
	if wrong > len(both) {
		return nil
	}
	return both
}
