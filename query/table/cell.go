package table

import (
	"bytes"
	"encoding/binary"
)

// wide holds the full-width signs of a formula, as East Asian keyboards produce
// them.
var wide = []string{"＝", "＋", "－", "＠"}

// formula reports whether a text must be escaped: because a spreadsheet might
// take it for a formula, or because its first character would be taken for the
// escape.
func formula(text []byte) bool {
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	if len(text) == 0 {
		return false
	}
	switch text[0] {
	case '=', '+', '-', '@', '\t', '\r', '\n', '\'':
		return true
	case 0xef:
		for _, sign := range wide {
			if bytes.HasPrefix(text, []byte(sign)) {
				return true
			}
		}
	}
	return false
}

// special marks the bytes that require quotes around a cell. Some spreadsheets
// use the semicolon as a separator.
var special = [256]bool{',': true, '"': true, '\r': true, '\n': true, ';': true}

// plain reports whether a text has no special byte. It checks eight at a time.
func plain(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		w := binary.LittleEndian.Uint64(text)
		comma, quote, semicolon, cr, lf := w^ones*',', w^ones*'"', w^ones*';', w^ones*'\r', w^ones*'\n'
		if ((comma-ones)&^comma|(quote-ones)&^quote|(semicolon-ones)&^semicolon|(cr-ones)&^cr|(lf-ones)&^lf)&highs != 0 {
			return false
		}
	}
	for _, c := range text {
		if special[c] {
			return false
		}
	}
	return true
}

// appendCell writes a text as a cell, in quotes if necessary; escape: with a
// leading '.
func appendCell(b, text []byte, escape bool) []byte {
	n := len(text)
	if n > 0 && text[0] != ' ' && text[n-1] != ' ' && plain(text) {
		if escape {
			b = append(b, '\'')
		}
		return append(b, text...)
	}
	b = append(b, '"')
	if escape {
		b = append(b, '\'')
	}
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return append(append(b, text...), '"')
		}
		b = append(append(b, text[:i+1]...), '"')
		text = text[i+1:]
	}
}
