package faults_test

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mountMemory puts a file system of its own, in memory, on a folder.
func mountMemory(dir string, bytes int64) error {
	return unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
}

// resizeMemory changes how much it holds; not to less than it does.
func resizeMemory(dir string, bytes int64) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}

func unmount(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) }

// usedBytes is what a file system holds.
func usedBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize, nil
}

// What a process may be short of.
const (
	openFiles    = unix.RLIMIT_NOFILE
	addressSpace = unix.RLIMIT_AS
)

// limit lowers what a process may have; back gives it back.
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
