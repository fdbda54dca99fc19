// Package must ends a test that cannot go on: an error where none may be, or a
// condition that does not come true. It depends on the standard library alone,
// so that tests of every package can use it.
package must

import (
	"fmt"
	"time"
)

// TB is a test, or a property of one.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Do fails the test now if there is an error.
func Do(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the value of a call that also returns an error, which fails the
// test now: must.Get(os.ReadFile(name))(t).
func Get[T any](value T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Eventually waits for a condition, and fails the test now if it is not true
// within the limit; what describes it and ends the sentence of the failure.
func Eventually(t TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	Do(t, Until(limit, what, ok))
}

// Until is Eventually for a caller that handles the error.
func Until(limit time.Duration, what string, ok func() bool) error {
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("after %v it is still not so that %s", limit, what)
		}
	}
	return nil
}
