// Package equals compares what a test wants with what it got, and lets the test go
// on; package must ends it. It depends on go-cmp alone, so that tests of every
// package can use it.
package equals

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
)

// TB is a test, or a property of one.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check reports the difference of the two, if there is one: - is what was wanted.
func Check(t TB, want, got any) {
	t.Helper()
	Checkf(t, want, got, "(-want +got)")
}

// Checkf is Check with words that say what differs.
func Checkf(t TB, want, got any, format string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%.4000s", fmt.Sprintf(format, args...), diff)
	}
}

// Is compares two values of a comparable type; the format and its arguments say
// what they are.
func Is[T comparable](t TB, want, got T, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Slices is Check for slices, of which an empty one is like none.
func Slices[E comparable](t TB, want, got []E, format string, args ...any) {
	t.Helper()
	if !slices.Equal(want, got) {
		Checkf(t, want, got, format, args...)
	}
}

// NoError reports an error; the format and its arguments say of what.
func NoError(t TB, err error, format string, args ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}
