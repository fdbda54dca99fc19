package testserver

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"preismon/deploy/embedded"
)

// The npm programs and packages that tests run, pinned with all their
// dependencies by version and integrity. newman runs Postman collections,
// redocly lints OpenAPI; conformance and inspector speak MCP to a server, and
// need a later Node than Debian's, which is a package too; the rest is for our
// scripts. To change them, edit package.json and run, in its folder,
// `npm install --package-lock-only --omit-lockfile-registry-resolved`.
//
//go:embed tools/package.json tools/package-lock.json
var toolFiles embed.FS

var toolsOnce = sync.OnceValues(installTools)

// Tool returns the path of an npm program. The first use on a machine installs
// all of them into the user's cache folder.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(packages(tb, name), ".bin", name)
}

// Node prepares a run of a program or a script with the Node of the npm
// packages. It ends with the test.
func Node(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	return exec.CommandContext(tb.Context(), Tool(tb, "node"), args...)
}

// Scripts copies a folder of ES modules to a place where they can import the npm
// packages, and returns its path. They find packages only in the folders above
// them.
func Scripts(tb testing.TB, folder string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink(packages(tb, folder), filepath.Join(dir, "node_modules")); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Chromium returns the path of the browser, which the system must provide.
func Chromium(tb testing.TB) string {
	tb.Helper()
	Full(tb, "a browser")
	path, err := exec.LookPath("chromium")
	if err != nil {
		tb.Fatal("this test needs a browser: apt-get install --no-install-recommends chromium")
	}
	return path
}

// packages returns the folder node_modules.
func packages(tb testing.TB, who string) string {
	tb.Helper()
	dir, err := toolsOnce()
	if err != nil {
		tb.Fatalf("this test needs %s: %v", who, err)
	}
	return filepath.Join(dir, "node_modules")
}

func installTools() (string, error) {
	manifest, err := toolFiles.ReadFile("tools/package.json")
	if err != nil {
		return "", err
	}
	lockfile, err := toolFiles.ReadFile("tools/package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := embedded.CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lockfile)
	dir := filepath.Join(cache, "node-tools-"+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	lock := flock.New(dir + ".lock")
	defer lock.Close()
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that installs them: %w", err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	logger().Info("installing npm programs for the tests, once", "into", dir)
	tmp, err := os.MkdirTemp(cache, "node-tools-new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for name, content := range map[string][]byte{"package.json": manifest, "package-lock.json": lockfile} {
		if err := os.WriteFile(filepath.Join(tmp, name), content, 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, os.Rename(tmp, dir)
}
