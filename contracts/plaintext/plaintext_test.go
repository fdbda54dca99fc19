package plaintext_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"preismon/contracts/plaintext"
	"preismon/deploy/testserver/equals"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"Claude Code", "Claude Code"},
		{"  Bürobedarf – 100 % €  ", "Bürobedarf – 100 % €"},
		{"a\tb\nc\r\nd\u2028e\u2029f\u0085g", "a b c  d e f g"},
		{"\x00a\x1b[31mb\x7fc\u009bd", "a[31mbcd"},
		{"a\u202Ab\u202Bc\u202Cd\u202De\u202Ef", "abcdef"},
		{"a\u2066b\u2067c\u2068d\u2069e", "abcde"},
		{"a\u200Eb\u200Fc\u061Cd", "abcd"},
		{"a\u200Bb\u200Cc\u200Dd\u2060e\uFEFFf", "abcdef"},
		{"a\U000E0000b\U000E0001c\U000E0041d\U000E007Fe\U000E01EFf", "abcdef"},
		{"a\u00ADb\u034Fc\u115Fd\u3164e\uFFFEf\u2063g", "abcdefg"},
		{"a\xffb\xc3\x28\xed\xa0\x80c", "ab(c"},
		{"literal \uFFFD stays", "literal \uFFFD stays"},
		{"שלום مرحبا 日本語", "שלום مرحبا 日本語"},
		{"❤\uFE0F e\u0301", "❤\uFE0F e\u0301"},
		{"\u0600 is seen", "\u0600 is seen"},
		{"\u200B\u202E \u00A0", ""},
		{"\u200B \u202Ename \u200B", "name"},
		{"<b>&amp;</b>", "<b>&amp;</b>"},
	} {
		equals.Is(t, c.want, plaintext.Clean(c.in, 60), "%q", c.in)
	}
}

func TestCleanBounds(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöüß", 3, "äö…"},
		{"ab\u200Bc", 3, "abc"},
		{"abc\u200B", 3, "abc"},
		{"abcd", 1, "…"},
		{"abcd", math.MaxInt, "abcd"},
		{"ab  ", 2, "ab"},
	} {
		equals.Is(t, c.want, plaintext.Clean(c.in, c.max), "%q to %d", c.in, c.max)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202E\xff\tb", 3)
	f.Add(" \u200B x \U000E0041", 60)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max %= 100
		got := plaintext.Clean(s, max)
		if n := utf8.RuneCountInString(got); !utf8.ValidString(got) || n > 0 && n > max {
			t.Fatalf("%q to %d: %q", s, max, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool {
			return r < ' ' || 0x7f <= r && r < 0xa0 || 0x200b <= r && r <= 0x200f || 0x2028 <= r && r <= 0x202e || 0x2060 <= r && r <= 0x206f || r == 0xfeff || r >= 0xe0000 && r < 0xe1000
		}) {
			t.Fatalf("%q: %q", s, got)
		}
		if again := plaintext.Clean(got, max); again != got {
			t.Fatalf("%q: %q, then %q", s, got, again)
		}
	})
}
