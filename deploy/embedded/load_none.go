//go:build static || windows

package embedded

import "os"

// loads is whether this build can load the library: a static build, made for
// images without any other file, loads nothing, and for Windows there is nothing
// to load.
const loads = false

func runLibrary(childSpec, <-chan struct{}, <-chan os.Signal) {
	fail(exitLibrary, "%sthis build of preismon loads none", brokenLibrary)
}
