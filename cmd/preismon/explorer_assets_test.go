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
	exits(t, 0, folder)(inProcess(t, "explorer-assets", folder))
	for name, word := range map[string]string{explorer.ViewScript: "createElement", explorer.ChartScript: "uPlot", explorer.ChartStyle: ".uplot"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !strings.Contains(string(text), word) {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}
