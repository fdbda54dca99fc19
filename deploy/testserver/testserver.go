// Package testserver provides tests with real servers: ClickHouse, NATS with
// JetStream, and S3 (MinIO). Tests of every package use it; nothing else does.
//
// A server is a container if there is a Docker engine that already has the image
// (nothing is ever pulled), otherwise an embedded one. Each call returns a database, server or bucket that no
// other test uses. A server that is not available fails the test with what to
// do; it never skips it. Embedded servers end with the test process, even if
// that is killed.
package testserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// ImagesVariable is the environment variable with the PREFIX of images whose
// containers are used, and nothing else: PREFIX/clickhouse, PREFIX/nats and
// PREFIX/minio.
const ImagesVariable = "PREISMON_TEST_IMAGES"

const (
	folderPattern = "preismon-testserver-*" // of embedded servers; see inMemory
	serverGrace   = 5 * time.Second         // for a server to end
	startLimit    = 2 * time.Minute         // to start, without fetching or building
	fetchLimit    = 15 * time.Minute        // to fetch and build
)

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// unique returns a name with a random suffix, valid for databases, users and buckets.
func unique(prefix string) string {
	return prefix + strings.ToLower(rand.Text()[:16])
}

// folder creates a folder for the servers of this process. It is locked as long
// as the process lives; folders of processes that were killed before their
// servers could remove them are removed here.
func folder() (string, error) {
	parent := inMemory()
	old, _ := filepath.Glob(filepath.Join(parent, folderPattern))
	for _, dir := range old {
		if st, err := os.Stat(dir); err != nil || time.Since(st.ModTime()) < time.Minute {
			continue // may be under construction
		}
		lock := flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_RDONLY))
		if ok, err := lock.TryLock(); err == nil && ok {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
	dir, err := os.MkdirTemp(parent, folderPattern)
	if err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return "", fmt.Errorf("lock %s: %v", dir, err)
	}
	locks = append(locks, lock)
	return dir, nil
}

// locks are held until the process ends; a garbage-collected file would be closed.
var locks []*flock.Flock

// base is the folder of this test process.
var base = sync.OnceValues(folder)

// cleanup runs f at the end of the test, when the test's context is already over.
func cleanup(tb testing.TB, what string, f func(ctx context.Context) error) {
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := f(ctx); err != nil {
			tb.Errorf("%s: %v", what, err)
		}
	})
}
