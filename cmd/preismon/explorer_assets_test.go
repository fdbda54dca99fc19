package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/query/explorer"
)

// TestExplorerAssets: the libraries are written where a query node finds them.
func TestExplorerAssets(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	out, errs, code := inProcess(t, "explorer-assets", folder)
	if code != 0 || !strings.Contains(out, folder) {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	for name, word := range map[string]string{explorer.ViewScript: "createElement", explorer.ChartScript: "uPlot", explorer.ChartStyle: ".uplot"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !strings.Contains(string(text), word) {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}
