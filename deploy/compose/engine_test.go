package compose_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
)

// noDockerVariable contains the reason why there is no Docker engine to test
// with. Without it, a missing engine is a failure.
const noDockerVariable = "PREISMON_TEST_NO_DOCKER"

// needsEngine fails if no engine answers.
func needsEngine(t *testing.T) {
	t.Helper()
	effort.Full(t, "containers on a Docker engine")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err == nil {
		t.Logf("Docker engine %s", bytes.TrimSpace(out))
		return
	}
	if reason := os.Getenv(noDockerVariable); reason != "" {
		t.Skipf("docker-compose.yml and the images are NOT tested: %s", reason)
	}
	t.Fatalf("this test needs a Docker engine: apt-get install --no-install-recommends docker.io, and start dockerd; or give the reason why there is none in %s: %v %s",
		noDockerVariable, err, out)
}

// run runs a command until it ends and returns its standard output.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, tail(out.String()), tail(errs.String()))
	}
	return out.String()
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

func docker(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, exec.CommandContext(t.Context(), "docker", args...))
}
