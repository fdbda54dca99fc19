package testserver

import (
	"flag"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// FullVariable switches on what `go test ./...` leaves out, if it is "full":
// tests that need a Docker engine, a browser or a build of MinIO, minutes of
// faults and load, and most of the repetitions of what is drawn at random. Then
// a missing part is a failure.
const FullVariable = "PREISMON_TEST"

func full() bool { return os.Getenv(FullVariable) == "full" }

// Full skips the test, saying what is left out, unless FullVariable asks for
// everything.
func Full(t testing.TB, leftOut string) {
	t.Helper()
	if !full() {
		t.Skipf("left out: %s (%s=full runs it)", leftOut, FullVariable)
	}
}

// Often is how many times a test repeats what it draws at random, or how many
// cases it takes of what it multiplies: all if FullVariable asks for everything,
// else quick, which has to have each kind of case.
func Often(quick, all int) int {
	if full() {
		return all
	}
	return quick
}

// Check is rapid.Check. Unless FullVariable or a flag of rapid asks for others,
// it takes as many as quick says, the first ones of one seed.
func Check(t *testing.T, quick int, property func(*rapid.T)) {
	t.Helper()
	CheckOften(t, quick, 100, property)
}

// CheckOften is Check, that takes as many as all says where everything is asked
// for: less than a hundred, where each is a second of a server.
func CheckOften(t *testing.T, quick, all int, property func(*rapid.T)) {
	t.Helper()
	checking.Lock() // the flags are the process's
	defer checking.Unlock()
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	if checks.Value.String() == "100" && seed.Value.String() == "0" {
		values := map[*flag.Flag]int{checks: all}
		if !full() {
			values = map[*flag.Flag]int{checks: quick, seed: 1}
		}
		for f, value := range values {
			was := f.Value.String()
			if err := f.Value.Set(strconv.Itoa(value)); err != nil {
				t.Fatal(err)
			}
			defer f.Value.Set(was) //nolint:errcheck // it was that
		}
	}
	rapid.Check(t, property)
}

var checking sync.Mutex
