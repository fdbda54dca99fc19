package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"preismon/contracts/plaintext"
	"preismon/query/wire"
)

// maxTextRunes bounds a text from third parties in an answer; a truncated one
// ends in an ellipsis.
const maxTextRunes = 500

const cursorMember = "nextCursor"

// ours are members that stay as they are where they are printable ASCII: opaque
// values, and addresses of further reads.
var ours = []string{cursorMember, "token", "read", "again"}

// presentable makes the texts in a JSON value suitable for an agent: texts
// written by shops and customers lose invisible characters and get a bounded
// length. Names of members, [ours] and everything that is not text stay
// unchanged. If there is nothing to change, it returns the value itself.
//
// The value must be valid JSON without blanks, as wire writes it.
func presentable(value []byte) ([]byte, error) {
	var out []byte
	done := 0 // how much of value is in out
	var name []byte
	for at := bytes.IndexByte(value, '"'); at >= 0; {
		end, ascii := textEnd(value, at)
		text := value[at:end]
		switch isName := end < len(value) && value[end] == ':'; {
		case isName:
			name = text[1 : len(text)-1]
		case ascii && !blankEnd(text) && len(text)-2 <= maxTextRunes:
		default:
			cleaned, changed, err := cleanText(text, slices.Contains(ours, string(name)))
			if err != nil {
				return nil, err
			}
			if changed {
				out = append(append(out, value[done:at]...), cleaned...)
				done = end
			}
		}
		next := bytes.IndexByte(value[end:], '"')
		if next < 0 {
			break
		}
		at = end + next
	}
	if done == 0 {
		return value, nil
	}
	return append(out, value[done:]...), nil
}

// textEnd returns the end of the JSON text that begins at a position, and
// whether it is printable ASCII without escapes.
func textEnd(value []byte, at int) (end int, ascii bool) {
	ascii = true
	for i := at + 1; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			return i + 1, ascii
		case c == '\\':
			ascii = false
			i++
		case c < ' ' || c > '~':
			ascii = false
		}
	}
	return len(value), false
}

// blankEnd reports whether the text begins or ends with a blank.
func blankEnd(text []byte) bool { return len(text) > 2 && (text[1] == ' ' || text[len(text)-2] == ' ') }

func cleanText(text []byte, ours bool) (cleaned []byte, changed bool, err error) {
	s := string(text[1 : len(text)-1])
	if strings.Contains(s, `\`) {
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, false, err
		}
	}
	if ours && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, false, nil
	}
	shown := plaintext.Clean(s, maxTextRunes)
	if shown == s {
		return nil, false, nil
	}
	cleaned, err = wire.Marshal(shown)
	return cleaned, true, err
}
