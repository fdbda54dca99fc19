// Package cachedir says where fetched and built programs are kept.
package cachedir

import (
	"fmt"
	"os"
	"path/filepath"
)

// Variable is the environment variable that replaces the user's cache folder.
const Variable = "PREISMON_CACHE_DIR"

// Path returns the folder that holds fetched programs: that of Variable,
// otherwise preismon in the user's cache folder.
func Path() (string, error) {
	if dir := os.Getenv(Variable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache folder for this user; name one in %s: %w", Variable, err)
	}
	return filepath.Join(dir, "preismon"), nil
}
