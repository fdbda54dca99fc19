package faults_test

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mountMemory mounts a separate in-memory file system on a folder.
func mountMemory(dir string, bytes int64) error {
	return unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
}

// resizeMemory changes its capacity, but not below what it holds.
func resizeMemory(dir string, bytes int64) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}

func unmount(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) }

// usedBytes is the number of bytes that a file system holds.
func usedBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize, nil
}

// The resources that a process may run out of.
const (
	openFiles    = unix.RLIMIT_NOFILE
	addressSpace = unix.RLIMIT_AS
)

// limit lowers a limit of a process; back restores it.
func limit(pid, what int, to uint64) (back func(), err error) {
	var was unix.Rlimit
	if err := unix.Prlimit(pid, what, nil, &was); err != nil {
		return nil, err
	}
	if err := unix.Prlimit(pid, what, &unix.Rlimit{Cur: to, Max: was.Max}, nil); err != nil {
		return nil, err
	}
	return func() { _ = unix.Prlimit(pid, what, &was, nil) }, nil
}
