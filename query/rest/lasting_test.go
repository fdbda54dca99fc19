package rest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// lasting is a test that ends with the process: what it makes is shared by all
// that only read it.
type lasting struct{ testing.TB }

var ends []func()

func (lasting) Context() context.Context { return context.Background() }
func (lasting) Cleanup(f func())         { ends = append(ends, f) }
func (lasting) Errorf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...)) // the test is over
}

func (l lasting) TempDir() string {
	dir, err := os.MkdirTemp("", "rest-*")
	must(l, err)
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, end := range slices.Backward(ends) {
		end()
	}
	os.Exit(code)
}

// shared is a world that is made when it is first asked for. Who asks only reads it.
type shared[W any] struct {
	mu   sync.Mutex
	made bool
	it   W
	make func(testing.TB) W
}

func (s *shared[W]) get(t testing.TB) W {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made {
		s.it = s.make(lasting{t})
		s.made = true
	}
	return s.it
}
