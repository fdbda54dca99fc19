package testserver

import (
	"os"
	"syscall"
)

// inMemory returns where servers keep their files: /dev/shm if that has room for
// those of all packages that are tested at once, otherwise the temporary folder.
// ClickHouse creates and deletes a dozen files for each insert, which takes a
// file system on a disk up to a third of the time of all tests
// (contracts/decisions/062-duration-of-tests.md).
func inMemory() string {
	const shared, room = "/dev/shm", 8 << 30
	var st syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(shared, &st) != nil || st.Bavail*uint64(st.Bsize) < room {
		return os.TempDir()
	}
	return shared
}
