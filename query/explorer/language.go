package explorer

import (
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// The languages of the front page, the default first. The explorer itself
// chooses in the browser.
var (
	spoken  = []string{"en", "de"}
	matcher = language.NewMatcher([]language.Tag{language.English, language.German})
)

// maxAcceptLanguage bounds what is read of the header.
const maxAcceptLanguage = 1000

// spokenBy gives the language that a browser likes best (RFC 9110, section
// 12.5.4), English when it likes none of ours.
func spokenBy(r *http.Request) string {
	header := strings.Join(r.Header.Values("Accept-Language"), ",")
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
