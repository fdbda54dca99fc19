package query

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzJSONString: whatever the bytes, the text is one JSON string that decodes
// to them, with replacement characters where they are not UTF-8.
func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "Ümläut 価格 🛒", "\xff\xfe", "</script>\u2028\u2029", strings.Repeat("x", 300) + "\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		text := AppendJSONString([]byte("["), s)
		var got []string
		if err := json.Unmarshal(append(text, ']'), &got); err != nil || len(got) != 1 {
			t.Fatalf("%q: %v", text, err)
		}
		want := string(s)
		if !utf8.ValidString(want) {
			want = string([]rune(want)) // each bad byte becomes one replacement character
		}
		if got[0] != want {
			t.Fatalf("read back %q, want %q", got[0], want)
		}
		if !utf8.Valid(text) {
			t.Fatalf("%q is no UTF-8", text)
		}
	})
}
