// Package effort tells tests how much is requested of them: all, or what fits
// into a few minutes on a machine with nothing but Go and npm.
package effort

import (
	"flag"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Variable switches on what `go test ./...` leaves out, if it is "full":
// tests that need a Docker engine, a browser or a build of MinIO, minutes of
// fault and load tests, and most of the repetitions of random tests. A missing
// part is then a failure.
const Variable = "PREISMON_TEST"

// All reports whether everything is requested.
func All() bool { return os.Getenv(Variable) == "full" }

// Full skips the test, and says what is left out, unless Variable requests
// everything.
func Full(t testing.TB, leftOut string) {
	t.Helper()
	if !All() {
		t.Skipf("left out: %s (%s=full runs it)", leftOut, Variable)
	}
}

// Often returns how many times a random test repeats, or how many cases a
// combinatorial test takes: all if Variable requests everything, otherwise
// quick, which must cover each kind of case.
func Often(quick, all int) int {
	if All() {
		return all
	}
	return quick
}

// Check is rapid.Check. Unless Variable or a flag of rapid requests others,
// it runs the first quick cases of one fixed seed.
func Check(t *testing.T, quick int, property func(*rapid.T)) {
	t.Helper()
	CheckOften(t, quick, 100, property)
}

// CheckOften is Check with all cases if everything is requested: fewer than a
// hundred, for cases that each take a second of a server.
func CheckOften(t *testing.T, quick, all int, property func(*rapid.T)) {
	t.Helper()
	checking.Lock() // the flags are shared by the process
	defer checking.Unlock()
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	if checks.Value.String() == "100" && seed.Value.String() == "0" {
		values := map[*flag.Flag]int{checks: all}
		if !All() {
			values = map[*flag.Flag]int{checks: quick, seed: 1}
		}
		for f, value := range values {
			was := f.Value.String()
			if err := f.Value.Set(strconv.Itoa(value)); err != nil {
				t.Fatal(err)
			}
			defer f.Value.Set(was) //nolint:errcheck // it was valid before
		}
	}
	rapid.Check(t, property)
}

var checking sync.Mutex
