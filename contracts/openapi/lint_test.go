package openapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver"
)

// The document as it is served passes the linter of Redocly in its
// recommended rules, without a warning.
func TestLint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	if err := os.WriteFile(file, document(t, openapi.YAMLPath), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs("testdata/redocly.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testserver.Tool(t, "redocly"), "lint", "--config", rules, "--max-problems", "50", file)
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
