// Package tools provides tests with programs that they run: of npm, of the
// system, and built from source. testserver describes the servers.
package tools

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"preismon/deploy/testserver/effort"
)

// The npm programs and packages that tests run, pinned with all their
// dependencies by version and integrity. newman runs Postman collections,
// redocly lints OpenAPI; conformance and inspector speak MCP to a server, and
// need a later Node than Debian's, which is a package too; the rest is for our
// scripts. To change them, edit package.json and run, in its folder,
// `npm install --package-lock-only --omit-lockfile-registry-resolved`.
//
//go:embed package.json package-lock.json
var toolFiles embed.FS

const npmInstall = "npm ci --ignore-scripts --no-audit --no-fund"

var toolsOnce = sync.OnceValues(installTools)

// Program returns the path of an npm program. The first use on a machine installs
// all of them into the user's cache folder.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(packages(tb, name), ".bin", name)
}

// Node prepares a run of a program or a script with the Node of the npm
// packages. It ends with the test.
func Node(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	return exec.CommandContext(tb.Context(), Program(tb, "node"), args...)
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
	return program(tb, "a browser", "chromium", "chromium")
}

// program returns the path of a program of the system; packaged is its package.
func program(tb testing.TB, what, name, packaged string) string {
	tb.Helper()
	effort.Full(tb, what)
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("this test needs %s: apt-get install --no-install-recommends %s", what, packaged)
	}
	return path
}

// packages returns the folder node_modules.
func packages(tb testing.TB, tool string) string {
	tb.Helper()
	dir, err := toolsOnce()
	if err != nil {
		tb.Fatalf("this test needs %s: %v", tool, err)
	}
	return dir
}

func installTools() (string, error) {
	lockfile, err := toolFiles.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lockfile)
	return cached("node-tools-"+hex.EncodeToString(sum[:8]), "node_modules", func(ctx context.Context, into string) *exec.Cmd {
		_ = os.CopyFS(into, toolFiles) // npm reports what is missing
		return exec.CommandContext(ctx, "sh", "-ec", "mkdir npm && mv package.json package-lock.json npm && cd npm && "+npmInstall+" && mv node_modules ..")
	})
}
