package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"preismon/query/wire"
)

// mostQueryHeader bounds the header of a query, so that it passes every proxy.
const mostQueryHeader = 3 << 10

// headerOf returns a query, an object in JSON, as the value of a header. Its
// longest members are left out if it would be longer than mostQueryHeader.
func headerOf(query any) (string, error) {
	text, err := wire.Marshal(query)
	if err != nil {
		return "", err
	}
	text = ascii(text)
	if len(text) <= mostQueryHeader {
		return string(text), nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return "", err
	}
	for len(text) > mostQueryHeader {
		longest := slices.MaxFunc(slices.Sorted(maps.Keys(members)), func(a, b string) int { return cmp.Compare(len(members[a]), len(members[b])) })
		delete(members, longest)
		if text, err = json.Marshal(members); err != nil {
			return "", err
		}
	}
	return string(text), nil
}

// ascii escapes what clients read differently in headers, or not at all: all
// but the printable characters of ASCII.
func ascii(text []byte) []byte {
	escaped := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if r < 0x7f { // in JSON, control characters are escaped anyway
			escaped = append(escaped, byte(r))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}
