//go:build !linux

package faults_test

import "errors"

const openFiles, addressSpace = 0, 0

func mountMemory(string, int64) error  { return errors.ErrUnsupported }
func resizeMemory(string, int64) error { return errors.ErrUnsupported }
func unmount(string)                   {}
func usedBytes(string) (int64, error)  { return 0, errors.ErrUnsupported }

func limit(int, int, uint64) (func(), error) { return nil, errors.ErrUnsupported }
