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

// The encodings of a file, as csv.encoding names them.
const (
	utf8Text    = "utf-8"
	utf16Text   = "utf-16" // without a byte order mark little endian
	windowsText = "windows-1252"
	latinText   = "latin-1"
)

var decoders = map[string]encoding.Encoding{
	utf8Text:    encoding.Nop,
	utf16Text:   unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	windowsText: charmap.Windows1252,
	latinText:   charmap.ISO8859_1,
}

// decoded gives the text of r in UTF-8.
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

// encodingOf guesses the encoding of a text from how it begins. Windows-1252
// has every character of Latin-1 that texts contain.
func encodingOf(begin []byte) string {
	switch {
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}), bytes.HasPrefix(begin, []byte{0xfe, 0xff}), twoBytes(begin):
		return utf16Text
	case validStart(begin):
		return utf8Text
	}
	return windowsText
}

// twoBytes tells whether b is UTF-16, little endian, of mostly Latin letters: no text
// has a zero byte otherwise.
func twoBytes(b []byte) bool {
	zeros := [2]int{}
	for i, c := range b {
		if c == 0 {
			zeros[i%2]++
		}
	}
	return zeros[0] == 0 && zeros[1] > len(b)/4
}

// validStart tells whether b is UTF-8, but for a character that its end cuts.
func validStart(b []byte) bool {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return utf8.Valid(b)
}
