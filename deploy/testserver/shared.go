package testserver

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Shared is something that several tests of a package only read, made when the
// first test requests it. Main runs the cleanups of Make at the end of the
// process.
type Shared[W any] struct {
	Make func(testing.TB) W

	mu   sync.Mutex
	made bool
	it   W
}

// Get returns it, and makes it first if necessary.
func (s *Shared[W]) Get(t testing.TB) W {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made {
		s.it = s.Make(lasting{t})
		s.made = true
	}
	return s.it
}

// Main runs the tests of a package that shares something.
func Main(m *testing.M) {
	code := m.Run()
	for _, end := range slices.Backward(ends) {
		end()
	}
	os.Exit(code)
}

// AtOnce lets n parallel tests of a package run at a time, unless the flag
// -parallel sets a number. The default, the number of processors, is too low
// for tests that wait.
func AtOnce(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

var (
	ending sync.Mutex
	ends   []func()
)

// lasting is a test that ends with the process.
type lasting struct{ testing.TB }

func (lasting) Context() context.Context { return context.Background() }
func (lasting) Cleanup(f func()) {
	ending.Lock()
	defer ending.Unlock()
	ends = append(ends, f)
}

func (lasting) Errorf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...)) // the test is over
}

func (l lasting) TempDir() string {
	l.Helper()
	dir, err := os.MkdirTemp("", "shared-*")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
