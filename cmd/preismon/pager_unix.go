//go:build !windows

package main

import "syscall"

// brokenPipe is the error of writing to a pipe that nobody reads.
const brokenPipe = syscall.EPIPE
