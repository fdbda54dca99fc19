package auth

import (
	"net/http"
	"strings"
)

// Credential takes the scheme, in lower case, and what follows it out of the
// one place a token may stand in: a single Authorization header. Without one
// both are empty.
func Credential(r *http.Request) (scheme, token string) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", ""
	}
	scheme, token, _ = strings.Cut(given[0], " ")
	return strings.ToLower(scheme), strings.Trim(token, " ")
}
