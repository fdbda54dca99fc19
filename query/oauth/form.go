package oauth

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"preismon/contracts/fault"
)

// Limits for the size of a request.
const (
	maxQueryBytes = 16 << 10
	maxFormBytes  = 64 << 10
)

// form holds parameters. A parameter without a value counts as missing
// (RFC 6749, section 3.1).
type form map[string]string

// parseForm parses parameters. twice has the names of those that occur more
// than once, which are not in f. Only resource may be repeated (RFC 8707,
// section 2): its values are joined into one, separated by blanks, which no URI
// contains.
func parseForm(text string) (f form, twice []string, err error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, nil, refuse(codeInvalidRequest, "The parameters are not form-encoded.")
	}
	f = form{}
	for name, v := range values {
		if name == "resource" {
			v = []string{strings.TrimSpace(strings.Join(v, " "))}
		}
		switch {
		case len(v) > 1:
			twice = append(twice, name)
		case v[0] != "":
			f[name] = v[0]
		}
	}
	slices.Sort(twice)
	return f, twice, nil
}

var errTwice = refuse(codeInvalidRequest, "A parameter comes more than once.")

// posted parses the parameters of a body. Parameters in the URL are ignored:
// they would appear in logs.
func posted(r *http.Request) (form, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, refuse(codeInvalidRequest, "Content-Type: must be application/x-www-form-urlencoded.")
	}
	body, err := readBody(r, maxFormBytes)
	if err != nil {
		return nil, err
	}
	f, twice, err := parseForm(string(body))
	if err == nil && len(twice) > 0 {
		err = errTwice
	}
	return f, err
}

func readBody(r *http.Request, most int64) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, refuse(codeInvalidRequest, "Content-Encoding: not accepted.")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Code: codeInvalidRequest, Msg: "The request body could not be read.", Err: err}
	}
	if int64(len(body)) > most {
		return nil, &fault.Error{Kind: fault.TooLarge, Msg: "The request body is too large.", ActualBytes: -1, MaxBytes: most}
	}
	return body, nil
}
