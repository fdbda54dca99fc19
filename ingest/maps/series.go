package maps

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
)

// timeOfDay matches what may follow the day in a file's name: _061502, T0615Z.
const timeOfDay = `(?:[-_.T ]?[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?Z?)?`

// seriesTimes match the time in a file's name: a day with or without a time of
// day, a week or a month.
var seriesTimes = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|\D)(20\d\d[-_.]?[01]\d[-_.]?[0-3]\d` + timeOfDay + `)(?:\D|$)`),
	regexp.MustCompile(`(?:^|\D)([0-3]\d[-_.][01]\d[-_.]20\d\d` + timeOfDay + `)(?:\D|$)`),
	regexp.MustCompile(`(?i)(?:^|\D)(20\d\d[-_.]?(?:w|kw)[0-5]\d)(?:\D|$)`),
	regexp.MustCompile(`(?:^|\D)(20\d\d[-_.]?(?:0[1-9]|1[0-2]))(?:\D|$)`),
	regexp.MustCompile(`(?:^|\D)((?:0[1-9]|1[0-2])[-_.]20\d\d)(?:\D|$)`),
}

// Series returns the file's label without the time in it: what files of one
// kind have in common.
func Series(file string) string {
	label := Label(file)
	for _, form := range seriesTimes {
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
