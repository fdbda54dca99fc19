package main

import "golang.org/x/sys/windows"

// brokenPipe is the error of writing to a pipe that nobody reads.
const brokenPipe = windows.ERROR_NO_DATA
