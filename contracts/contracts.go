// Package contracts defines the vocabulary of the domain: observations and their
// offers, money, pairs, windows, catalogue records and identifiers, with the
// rules that make each of them valid.
//
// Every other package uses this vocabulary; this one knows no stream, no table
// and no HTTP, and imports the standard library only. A value that passed its
// Validate can be published, stored and shown without further checks.
package contracts

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Faults collects every fault of a value, so that a caller can fix them all at
// once instead of one per attempt.
type Faults struct{ errs []error }

// Addf adds one fault; the text begins with the path of the field.
func (f *Faults) Addf(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// Check adds the fault if ok is false.
func (f *Faults) Check(ok bool, format string, args ...any) {
	if !ok {
		f.Addf(format, args...)
	}
}

// Under adds the faults of a part, each with the part's path before it.
func (f *Faults) Under(path string, err error) {
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("%s: %w", path, err))
	}
}

// Err returns nil if there are no faults, otherwise one error that names them all.
func (f *Faults) Err() error { return errors.Join(f.errs...) }

// text checks a string taken from outside: valid UTF-8, at most limit bytes,
// and not empty when required.
func (f *Faults) text(path, s string, required bool, limit int) {
	switch {
	case s == "" && required:
		f.Addf("%s: missing", path)
	case len(s) > limit:
		f.Addf("%s: %d bytes, at most %d", path, len(s), limit)
	case !utf8.ValidString(s):
		f.Addf("%s: not UTF-8", path)
	}
}
