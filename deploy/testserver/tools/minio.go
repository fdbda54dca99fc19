package tools

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"preismon/deploy/testserver/effort"
)

// The last MinIO server that can be built; its images are no longer available.
const (
	minioModule  = "github.com/minio/minio"
	minioVersion = "v0.0.0-20260212201848-7aac2a2c5b7c"
)

// MinIO returns the path of the MinIO program, without libc, that the tests run if
// there are no containers.
func MinIO(tb testing.TB) string {
	tb.Helper()
	effort.Full(tb, "MinIO, which is built first")
	program, err := BuildMinIO()
	if err != nil {
		tb.Fatalf("this test needs MinIO: %v", err)
	}
	return program
}

// BuildMinIO returns the pinned MinIO program in the cache folder, built once.
func BuildMinIO() (string, error) {
	return cached("minio-"+minioVersion, "minio", func(ctx context.Context, into string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", "install", minioModule+"@"+minioVersion)
		cmd.Env = append(os.Environ(), "GOBIN="+into, "GOFLAGS=", "CGO_ENABLED=0")
		return cmd
	})
}
