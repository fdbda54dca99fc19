//go:build !linux && !static && !windows

package embedded

// keepServing has nothing to do: the library is pinned for Linux only.
func keepServing(string) error { return nil }
