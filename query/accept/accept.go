// Package accept reads what clients accept: media types in Accept and content
// codings in Accept-Encoding (RFC 9110, section 12.5). Malformed parts are
// ignored.
package accept

import (
	"mime"
	"strconv"
	"strings"
)

// Coding returns the offered content coding that the client prefers according
// to its Accept-Encoding fields, the first among equals; empty: none, also when
// it prefers identity.
func Coding(fields []string, offered ...string) string {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		coding, rest, _ := strings.Cut(part, ";")
		q, given := strings.CutPrefix(withoutSpace.Replace(strings.ToLower(rest)), "q=")
		if w, ok := weight(q, given); ok {
			weights[strings.ToLower(strings.TrimSpace(coding))] = w
		}
	}
	best, most := "", 0.0
	for _, coding := range offered {
		w, named := weights[coding]
		if !named {
			w = weights["*"]
		}
		if w > most {
			best, most = coding, w
		}
	}
	if weights["identity"] > most {
		return ""
	}
	return best
}

// withoutSpace removes optional white space (RFC 9110, section 5.6.3).
var withoutSpace = strings.NewReplacer(" ", "", "\t", "")

// Range is a media range of Accept.
type Range struct {
	Media  string            // type/subtype, type/* or */*
	Params map[string]string // without the weight
	Weight float64           // from 0, which refuses, to 1
}

// Ranges parses the fields of Accept.
func Ranges(fields []string) (all []Range) {
	for _, part := range members(strings.Join(fields, ",")) {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || !strings.Contains(media, "/") {
			continue
		}
		q, given := params["q"]
		delete(params, "q")
		if w, ok := weight(q, given); ok {
			all = append(all, Range{media, params, w})
		}
	}
	return all
}

// weight parses a weight, which is 1 if none is given.
func weight(q string, given bool) (w float64, ok bool) {
	if !given {
		return 1, true
	}
	w, err := strconv.ParseFloat(q, 64)
	return w, err == nil && w >= 0 && w <= 1
}

// members splits a field at its commas, except those within quotes.
func members(field string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(field, func(c rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		return c == ',' && !quoted
	})
}
