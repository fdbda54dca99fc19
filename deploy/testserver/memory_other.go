//go:build !linux

package testserver

import "os"

// inMemory returns where servers keep their files.
func inMemory() string { return os.TempDir() }
