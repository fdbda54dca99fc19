package page

import (
	"net/http"

	"preismon/query/look"
)

// spoken are the texts of the pages, by language.
var spoken = map[string]*texts{"en": &english, "de": &german}

// textsFor gives the texts in the language that a browser likes best.
func textsFor(r *http.Request) *texts { return spoken[look.SpokenBy(r)] }
