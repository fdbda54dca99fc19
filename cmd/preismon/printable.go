package main

import (
	"fmt"
	"strings"
	"unicode"
)

// printable returns a text that does nothing to a terminal: controls, marks that
// change the direction of text, and characters without a width or a meaning are
// replaced by their code. Characters in keep are left unchanged.
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
