package projector

import "golang.org/x/text/unicode/norm"

// composed returns a text that can be searched for, in NFC as queries are: a
// letter with its accent is then the same text however the source wrote it.
func composed(s string) string { return norm.NFC.String(s) }
