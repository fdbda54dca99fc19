package tools

import (
	"os/exec"
	"testing"

	"preismon/deploy/testserver/effort"
)

// Pandas returns the path of a Python that has pandas, which the system must
// provide.
func Pandas(tb testing.TB) string {
	tb.Helper()
	effort.Full(tb, "a Python with pandas")
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.CommandContext(tb.Context(), path, "-c", "import pandas").Run() == nil {
			return path
		}
	}
	tb.Fatal("this test needs Python with pandas: apt-get install --no-install-recommends python3-pandas")
	return ""
}

// R returns the path of Rscript, which the system must provide.
func R(tb testing.TB) string {
	tb.Helper()
	return program(tb, "R", "Rscript", "r-base-core")
}
