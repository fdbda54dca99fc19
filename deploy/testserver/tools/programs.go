package tools

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"preismon/deploy/embedded/cachedir"
	"preismon/deploy/testserver/effort"
)

const fetchLimit = 15 * time.Minute // to fetch and build

// cached returns the path of a program, or of a folder of programs, in a folder
// of the cache folder. It is built there once: build prepares the command that
// leaves it, under its name, in an empty folder.
func cached(folder, name string, build func(ctx context.Context, into string) *exec.Cmd) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	cache, err := cachedir.Path()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, folder)
	built := filepath.Join(dir, name)
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	defer lock.Close()
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that builds %s: %w", folder, err)
	}
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	slog.Info("building programs for the tests, once; this takes minutes", "into", dir)
	tmp, err := os.MkdirTemp(dir, "build-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := build(ctx, tmp)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return built, os.Rename(filepath.Join(tmp, name), built)
}

const composeVersion = "v2.40.3"

// composeModule is a module that only exists to build Docker Compose in:
// Compose's own module excludes versions, which `go install` refuses.
const composeModule = `module compose

go 1.26

require github.com/docker/compose/v2 ` + composeVersion + `

exclude github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc

exclude github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2
`

// Compose prepares a run of Docker Compose, built from source: few systems
// package its second version. It ends with the test.
func Compose(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	effort.Full(tb, "Docker Compose, which is built first")
	program, err := cached("docker-compose-"+composeVersion, "docker-compose", func(ctx context.Context, into string) *exec.Cmd {
		_ = os.WriteFile(filepath.Join(into, "go.mod"), []byte(composeModule), 0o644) // the build reports if it is missing
		cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", "docker-compose", "github.com/docker/compose/v2/cmd")
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
		return cmd
	})
	if err != nil {
		tb.Fatalf("this test needs Docker Compose: %v", err)
	}
	return exec.CommandContext(tb.Context(), program, args...)
}
