package look

import (
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// Languages are those of the pages, the default first. The explorer itself
// chooses in the browser.
var Languages = []string{"en", "de"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.German})

// maxAcceptLanguage bounds what is read of the header.
const maxAcceptLanguage = 1000

// SpokenBy gives the language that a browser likes best (RFC 9110, section
// 12.5.4), English when it likes none of ours.
func SpokenBy(r *http.Request) string {
	header := strings.Join(r.Header.Values("Accept-Language"), ",")
	if len(header) > maxAcceptLanguage {
		return Languages[0]
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return Languages[0]
	}
	_, index, _ := matcher.Match(tags...) // the first, if none is close
	return Languages[index]
}
