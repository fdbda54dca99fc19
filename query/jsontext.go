package query

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// AppendJSONString appends s as a JSON string (RFC 8259). Bytes that are not
// UTF-8 become the replacement character, as in encoding/json.
func AppendJSONString(b, s []byte) []byte {
	b = append(b, '"')
	start, i := 0, 0
	for {
		if i += plainPrefix(s[i:]); i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscape(b, c)
			i++
			start = i
			continue
		}
		// Most non-ASCII characters here are letters of two bytes.
		if c >= 0xc2 && c <= 0xdf && i+1 < len(s) && s[i+1]&0xc0 == 0x80 {
			i += 2
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// plainPrefix is the number of bytes at the beginning of s that need no
// escaping in a JSON string: printable ASCII except quotes and backslashes. It
// examines eight at a time; only the lowest mark of a word is exact, because
// borrows go upwards.
func plainPrefix(s []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(s); n += 8 {
		w := binary.LittleEndian.Uint64(s[n:])
		quote, backslash, del := w^ones*'"', w^ones*'\\', w^ones*0x7f
		marks := w | ((w-ones*0x20)|(quote-ones)|(backslash-ones)|(del-ones))&^w
		if marks &= highs; marks != 0 {
			return n + bits.TrailingZeros64(marks)/8
		}
	}
	for n < len(s) && s[n] < utf8.RuneSelf && plainJSON[s[n]] {
		n++
	}
	return n
}

// plainJSON marks the ASCII bytes that need no escaping in a JSON string.
var plainJSON = func() (plain [utf8.RuneSelf]bool) {
	for c := range plain {
		plain[c] = c >= 0x20 && c != '"' && c != '\\' && c != 0x7f
	}
	return plain
}()

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
