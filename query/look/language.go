package look

import (
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// Languages are the languages of the pages, the default first. The explorer
// itself chooses in the browser.
var Languages = []string{"en", "de"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.German})

// maxAcceptLanguage is the longest header that is read.
const maxAcceptLanguage = 1000

// SpokenBy returns the language that a browser prefers (RFC 9110, section
// 12.5.4), or English if it prefers none of ours.
func SpokenBy(r *http.Request) string {
	header := strings.Join(r.Header.Values("Accept-Language"), ",")
	if len(header) > maxAcceptLanguage {
		return Languages[0]
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return Languages[0]
	}
	_, index, _ := matcher.Match(tags...) // the first if none is close
	return Languages[index]
}
