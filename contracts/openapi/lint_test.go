package openapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

// The documents as served pass the linters of Redocly and Spectral with their
// recommended rules, without a warning. The partial documents, which are built
// from the first, are linted only in a full run.
func TestLint(t *testing.T) {
	dir := t.TempDir()
	var files []string
	paths := []string{openapi.YAMLPath, openapi.ExtYAMLPath, "/openapi/reads.yaml", "/openapi/files.yaml", "/openapi/agents.yaml"}
	for _, path := range paths[:effort.Often(2, 5)] {
		file := filepath.Join(dir, filepath.Base(path))
		must.Do(t, os.WriteFile(file, document(t, path), 0o600))
		files = append(files, file)
	}
	for linter, args := range map[string][]string{
		"redocly":  {"lint", "--config", rules(t, "redocly"), "--max-problems", "50"},
		"spectral": {"lint", "--ruleset", rules(t, "spectral"), "--fail-severity", "hint"},
	} {
		t.Run(linter, func(t *testing.T) {
			t.Parallel()
			cmd := tools.Node(t, append(append([]string{tools.Program(t, linter)}, args...), files...)...)
			cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func rules(t *testing.T, linter string) string {
	t.Helper()
	path := must.Get(filepath.Abs("testdata/" + linter + ".yaml"))(t)
	return path
}
