package testserver

import (
	"context"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Claude Code, pinned by version and integrity. It is 400 MB, which is why it is
// not among the other npm programs: only tests that run it fetch it. To change
// it, edit package.json and run, in its folder,
// `npm install --package-lock-only --omit-lockfile-registry-resolved`.
//
//go:embed claude/package.json claude/package-lock.json
var claudeFiles embed.FS

const claudePackage = "@anthropic-ai/claude-code-linux-x64"

// ClaudeCode returns the path of Claude Code's program.
func ClaudeCode(tb testing.TB) string {
	tb.Helper()
	Full(tb, "Claude Code")
	manifest, err := claudeFiles.ReadFile("claude/package.json")
	if err != nil {
		tb.Fatal(err)
	}
	var wanted struct {
		Dependencies map[string]string
	}
	if err := json.Unmarshal(manifest, &wanted); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	path, err := builtProgram(ctx, "claude", wanted.Dependencies[claudePackage], func(into string) *exec.Cmd {
		for _, name := range []string{"package.json", "package-lock.json"} {
			content, _ := claudeFiles.ReadFile("claude/" + name)
			_ = os.WriteFile(filepath.Join(into, name), content, 0o644) // npm reports if it is missing
		}
		return exec.CommandContext(ctx, "sh", "-ec", "npm ci --ignore-scripts --no-audit --no-fund && mv node_modules/"+claudePackage+"/claude .")
	})
	if err != nil {
		tb.Fatalf("this test needs Claude Code: %v", err)
	}
	return path
}
