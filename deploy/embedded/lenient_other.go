//go:build !linux && !static && !windows

package embedded

// keepServing has nothing to do: the library is only pinned for Linux.
func keepServing(string) error { return nil }
