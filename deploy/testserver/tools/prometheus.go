package tools

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"preismon/deploy/testserver/effort"
)

// NoPrometheusVariable is the reason why there is no Prometheus to test with.
// Without it a missing one is a failure.
const NoPrometheusVariable = "PREISMON_TEST_NO_PROMETHEUS"

// Prometheus returns the path of a Prometheus: the system's, otherwise the one
// in Debian's package, whose file is unpacked into the cache folder and not
// installed, because that would start a service.
func Prometheus(tb testing.TB) string {
	tb.Helper()
	effort.Full(tb, "a Prometheus")
	if path, err := exec.LookPath("prometheus"); err == nil {
		return path
	}
	path, err := cached("prometheus-debian", "prometheus", func(ctx context.Context, _ string) *exec.Cmd {
		return exec.CommandContext(ctx, "sh", "-ec", "apt-get download prometheus && dpkg -x prometheus_*.deb package && mv package/usr/bin/prometheus .")
	})
	if err != nil {
		if reason := os.Getenv(NoPrometheusVariable); reason != "" {
			tb.Skipf("NOT tested with a real Prometheus: %s", reason)
		}
		tb.Fatalf("this test needs Prometheus, on PATH or as Debian's package (after apt-get update); or give the reason why there is none in %s: %v", NoPrometheusVariable, err)
	}
	return path
}
