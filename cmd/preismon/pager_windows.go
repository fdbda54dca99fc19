package main

import "golang.org/x/sys/windows"

// brokenPipe is the error of writing to a pipe without a reader.
const brokenPipe = windows.ERROR_NO_DATA
