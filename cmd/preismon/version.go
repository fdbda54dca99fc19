package main

import (
	"fmt"
	"runtime/debug"
)

// release is set by the linker for released builds.
var release string

// build returns the name of the running build: its release, otherwise its commit.
func build() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if len(revision) < 12 {
		return "devel"
	}
	return "devel-" + revision[:12] + modified
}

type versionCmd struct{}

func (versionCmd) Run(std streams) error {
	_, err := fmt.Fprintln(std.out, "preismon", build())
	return err
}
