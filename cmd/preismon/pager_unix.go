//go:build !windows

package main

import "syscall"

// brokenPipe is the error of writing to a pipe without a reader.
const brokenPipe = syscall.EPIPE
