package maps

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// The encodings of a file, by their names in csv.encoding.
const (
	utf8Text    = "utf-8"
	utf16Text   = "utf-16" // little endian if there is no byte order mark
	windowsText = "windows-1252"
	latinText   = "latin-1"
)

var decoders = map[string]encoding.Encoding{
	utf8Text:    encoding.Nop,
	utf16Text:   unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	windowsText: charmap.Windows1252,
	latinText:   charmap.ISO8859_1,
}

// decoded returns the text of r in UTF-8.
func decoded(r io.Reader, name string) (io.Reader, error) {
	e, ok := decoders[name]
	if !ok {
		return nil, fmt.Errorf("%q is none of %s, %s, %s, %s", name, utf8Text, utf16Text, windowsText, latinText)
	}
	if e == encoding.Nop {
		return r, nil
	}
	return e.NewDecoder().Reader(r), nil
}

// encodingOf guesses the encoding of a text from its beginning and excerpts.
// Windows-1252 has every Latin-1 character that occurs in texts, and hardly any
// two that are one in UTF-8; a few characters of UTF-8 may be damaged.
func encodingOf(begin []byte, excerpts [][]byte) string {
	if bytes.HasPrefix(begin, []byte{0xff, 0xfe}) || bytes.HasPrefix(begin, []byte{0xfe, 0xff}) || twoBytes(begin) {
		return utf16Text
	}
	right, wrong := beyondASCII(begin)
	for _, e := range excerpts {
		r, w := beyondASCII(e)
		right, wrong = right+r, wrong+w
	}
	if right >= wrong {
		return utf8Text
	}
	return windowsText
}

// twoBytes reports whether b is little-endian UTF-16 with mostly Latin letters:
// no other text contains zero bytes.
func twoBytes(b []byte) bool {
	zeros := [2]int{}
	for i, c := range b {
		if c == 0 {
			zeros[i%2]++
		}
	}
	return zeros[0] == 0 && zeros[1] > len(b)/4
}

// beyondASCII counts the characters beyond ASCII that are UTF-8, and the bytes
// that are not, apart from a character that is cut off at the end.
func beyondASCII(b []byte) (right, wrong int) {
	for len(b) > 0 && utf8.FullRune(b) {
		r, size := utf8.DecodeRune(b)
		switch {
		case size > 1:
			right++
		case r == utf8.RuneError:
			wrong++
		}
		b = b[size:]
	}
	return right, wrong
}
