package tools

import (
	"context"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"preismon/deploy/testserver/effort"
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
	effort.Full(tb, "Claude Code")
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
	path, err := cached("claude-"+wanted.Dependencies[claudePackage], "claude", func(ctx context.Context, into string) *exec.Cmd {
		_ = os.CopyFS(into, claudeFiles) // npm reports what is missing
		return exec.CommandContext(ctx, "sh", "-ec", "mv claude npm && cd npm && "+npmInstall+" && mv node_modules/"+claudePackage+"/claude ..")
	})
	if err != nil {
		tb.Fatalf("this test needs Claude Code: %v", err)
	}
	return path
}
