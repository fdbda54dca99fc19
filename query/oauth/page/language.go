package page

import (
	"strings"

	"golang.org/x/text/language"
)

// The languages of the pages, the default first.
var (
	spoken  = []*texts{&english, &german}
	matcher = language.NewMatcher([]language.Tag{language.English, language.German})
)

// maxAcceptLanguage bounds what is read of the header.
const maxAcceptLanguage = 1000

// choose gives the texts in the language that a browser likes best (RFC 9110,
// section 12.5.4), English when it likes none of ours.
func choose(accept []string) *texts {
	header := strings.Join(accept, ",")
	if len(header) > maxAcceptLanguage {
		return spoken[0]
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return spoken[0]
	}
	_, index, _ := matcher.Match(tags...) // the first, if none is close
	return spoken[index]
}
