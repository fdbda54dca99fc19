package embedded

import (
	"fmt"
	"strings"
)

const libraryVersion = "26.7.3-stable.1"

// packages lists the pinned library of each platform. Platforms whose package
// could not be verified yet are left out: nothing that we have not pinned is
// loaded into one of our processes.
var packages = map[string]Package{
	"linux/amd64": {
		Name: "@chdb/lib-linux-x64-gnu", Version: libraryVersion,
		Integrity: "sha512-XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
		Packed:    177_817_999, Unpacked: 566_330_096,
	},
}

// LibraryFor returns the ClickHouse library of a platform, such as linux/amd64.
// For a platform without one, and in a build that loads none, the error is a
// sentence that says how to get a clickhouse program.
func LibraryFor(platform string) (Package, error) {
	if pkg, ok := packages[platform]; ok && loads {
		return pkg, nil
	}
	goos, _, _ := strings.Cut(platform, "/")
	return Package{}, fmt.Errorf("there is no usable clickhouse program on PATH, and this build of preismon loads no ClickHouse library for %s; %s", platform, getProgram(goos))
}

// getProgram returns what helps on a system without the library: how to get a
// clickhouse program that is new enough.
func getProgram(goos string) string {
	if goos == "windows" {
		return "start preismon in the Linux of Windows (`wsl --install`) since ClickHouse does not run on Windows itself, or only the roles, with the --clickhouse-dsn of a server elsewhere"
	}
	return fmt.Sprintf("get a clickhouse program with `curl https://clickhouse.com/ | sh` and move it into a folder of PATH (version %d.%d or newer)", oldestProgram[0], oldestProgram[1])
}
