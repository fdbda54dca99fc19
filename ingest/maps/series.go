package maps

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
)

// What a file's name says about time: a day with or without a time of day, a
// week, or a month. The first group is all of it.
var (
	yearFirst = regexp.MustCompile(`(?:^|\D)((20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)` + timeOfDay + `)(?:\D|$)`)
	yearLast  = regexp.MustCompile(`(?:^|\D)(([0-3]\d)[-_.]([01]\d)[-_.](20\d\d)` + timeOfDay + `)(?:\D|$)`)
	yearWeek  = regexp.MustCompile(`(?i)(?:^|\D)(20\d\d[-_.]?(?:w|kw)[0-5]\d)(?:\D|$)`)
	yearMonth = regexp.MustCompile(`(?:^|\D)(20\d\d[-_.]?(?:0[1-9]|1[0-2]))(?:\D|$)`)
	monthYear = regexp.MustCompile(`(?:^|\D)((?:0[1-9]|1[0-2])[-_.]20\d\d)(?:\D|$)`)
)

// timeOfDay matches what may follow a day, in four groups: _061502, T0615Z.
const timeOfDay = `(?:[-_.T ]?([01]\d|2[0-3])[-_.:]?([0-5]\d)(?:[-_.:]?([0-5]\d))?(Z?))?`

// Series returns the file's label without the time in it: what files of one
// kind have in common.
func Series(file string) string {
	label := Label(file)
	for _, form := range []*regexp.Regexp{yearFirst, yearLast, yearWeek, yearMonth, monthYear} {
		if at := form.FindStringSubmatchIndex(label); at != nil {
			label = label[:at[2]] + label[at[3]:]
			break
		}
	}
	return cmp.Or(strings.Trim(label, " -_.()"), Label(file))
}

// Label returns the file's name without its folder and extensions.
func Label(file string) string {
	name := filepath.Base(file)
	for _, ext := range []string{".gz", ".zst", ".csv", ".tsv", ".txt", ".xlsx", ".zip", ".parquet"} {
		if len(name) > len(ext) && strings.EqualFold(name[len(name)-len(ext):], ext) {
			name = name[:len(name)-len(ext)]
		}
	}
	return name
}
