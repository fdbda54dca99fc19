package rest

import (
	"cmp"
	"mime"
	"strings"
	"unicode"
)

// contentDisposition offers a file under its name (RFC 6266). The name is first
// made harmless: no paths, no control characters, no changes of text direction.
// A name that is not ASCII goes into filename* (RFC 8187), with a plain one
// alongside for clients that do not read that.
func contentDisposition(filename string) string {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			return '_'
		}
		return r
	}, filename)
	name = cmp.Or(strings.TrimRight(strings.TrimLeft(name, " ."), " "), "download")
	plain := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '_'
		}
		return r
	}, name)
	header := mime.FormatMediaType("attachment", map[string]string{"filename": plain})
	if plain != name { // then it is written as filename*
		header += strings.TrimPrefix(mime.FormatMediaType("attachment", map[string]string{"filename": name}), "attachment")
	}
	return header
}
