package auth

import (
	"net/http"
	"strings"
)

// Credential returns the scheme, in lower case, and the token from the only
// place where a token may be: a single Authorization header. If there is not
// exactly one, both are empty.
func Credential(r *http.Request) (scheme, token string) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", ""
	}
	scheme, token, _ = strings.Cut(given[0], " ")
	return strings.ToLower(scheme), strings.Trim(token, " ")
}
