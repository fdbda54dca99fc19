//go:build static

package embedded

import "os"

// loads: a static build, made for images without any other file, loads nothing.
const loads = false

func runLibrary(childSpec, <-chan struct{}, <-chan os.Signal) {
	fail(exitLibrary, "%sthis build of preismon is static", brokenLibrary)
}
