package testserver

import (
	"os"
	"testing"
)

// FullVariable switches on what `go test ./...` leaves out, if it is "full":
// tests that need a Docker engine, a browser or a build of MinIO, and minutes of
// faults and load. Then a missing part is a failure.
const FullVariable = "PREISMON_TEST"

// Full skips the test, saying what is left out, unless FullVariable asks for
// everything.
func Full(t testing.TB, leftOut string) {
	t.Helper()
	if os.Getenv(FullVariable) != "full" {
		t.Skipf("left out: %s (%s=full runs it)", leftOut, FullVariable)
	}
}
