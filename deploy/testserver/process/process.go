// Package process runs preismon and NATS as processes alongside a test, so that
// they can be stopped, killed and restarted as in operation. Tests of whole
// nodes use it. Everything it starts ends with the test process, for whatever
// reason that ends.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"preismon/deploy/embedded/cachedir"
)

// Main is called by TestMain of packages that use this one.
func Main(m *testing.M) {
	if os.Getenv(natsFolder) != "" {
		serveNATS()
	}
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

var built string // the folder of the program

// ProgramVariable names a preismon to run instead of building one.
const ProgramVariable = "PREISMON_TEST_PROGRAM"

// Environment is that of the test without the variables of the person who runs
// it, except for the location of the ClickHouse library.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PREISMON_") && !strings.HasPrefix(v, cachedir.Variable+"=") || strings.HasPrefix(v, "RUST_API_")
	})
}

// Program builds preismon, once per test process, and returns its file. A
// test binary that is preismon itself may take its place.
var Program = sync.OnceValues(func() (string, error) {
	if name := os.Getenv(ProgramVariable); name != "" {
		return name, nil
	}
	dir, err := os.MkdirTemp("", "preismon-program-*")
	if err != nil {
		return "", err
	}
	built = dir
	name := filepath.Join(dir, "preismon")
	if out, err := exec.Command("go", "build", "-o", name, "preismon/cmd/preismon").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build preismon: %w\n%s", err, out)
	}
	return name, nil
})
