package embedded_test

import (
	"strings"
	"testing"

	"preismon/deploy/embedded"
)

// Where there is no library, one sentence explains how to get a clickhouse
// program.
func TestLibraryFor(t *testing.T) {
	if p, err := embedded.LibraryFor("linux/amd64"); err != nil || p.Integrity == "" {
		t.Errorf("linux/amd64: %+v, %v", p, err)
	}
	for platform, want := range map[string]string{
		"linux/arm64":   "curl https://clickhouse.com/ | sh",
		"darwin/amd64":  "curl https://clickhouse.com/ | sh",
		"darwin/arm64":  "curl https://clickhouse.com/ | sh",
		"windows/amd64": "wsl --install",
	} {
		_, err := embedded.LibraryFor(platform)
		if err == nil || !strings.Contains(err.Error(), "no ClickHouse library for "+platform) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one sentence with %q", platform, err, want)
		}
	}
}
