package main

import (
	"fmt"
	"strings"
	"unicode"
)

// printable is a text that does nothing to a terminal: controls, marks that
// turn the direction of text, and what has no width or no meaning stand as
// their code. Characters of keep stay as they are.
func printable(s, keep string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "�") {
		switch {
		case strings.ContainsRune(keep, r), unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
