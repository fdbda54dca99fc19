package page

import (
	"net/http"

	"preismon/query/look"
)

// spoken holds the texts of the pages, by language.
var spoken = map[string]*texts{"en": &english, "de": &german}

// textsFor returns the texts in the language that a browser prefers.
func textsFor(r *http.Request) *texts { return spoken[look.SpokenBy(r)] }
