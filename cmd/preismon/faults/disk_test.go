package faults_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// disk is a server's folder on a file system of its own, so that it can be full
// while the machine's is not.
type disk struct {
	dir     string
	mounted bool
}

// diskBytes is what such a disk may hold; unused space takes no memory.
const diskBytes = 4 << 30

// newDisk mounts the folder. Where mounting is not allowed, it is a plain
// folder, and the faults set a limit on its server instead.
func newDisk(t testing.TB, dir string) *disk {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o700))
	d := &disk{dir: dir}
	err := errors.New("not wanted")
	if !*runPlain {
		err = mountMemory(dir, diskBytes)
	}
	if err != nil {
		fmt.Printf("NOTE: no file system can be mounted on %s (%v): full disks are limits of the servers here, not ENOSPC\n", dir, err)
		return d
	}
	d.mounted = true
	t.Cleanup(func() { unmount(dir) })
	return d
}

// fullWhile leaves the disk with at most room free bytes until do returns,
// whatever its server removes meanwhile.
func (d *disk) fullWhile(room int64, do func() error) error {
	fill := func() error {
		used, err := usedBytes(d.dir)
		if err == nil {
			err = resizeMemory(d.dir, used+room) // fails if more is used by now
		}
		return err
	}
	if _, err := retried(func() (any, error) { return nil, fill() }); err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				_ = fill() // otherwise the next time
			}
		}
	}()
	err := do()
	close(stop)
	<-stopped
	return errors.Join(err, resizeMemory(d.dir, diskBytes))
}
