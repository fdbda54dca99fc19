package admission_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"preismon/query/admission"
)

// TestWork: no more work runs at the same time than there are processors, and
// work that fails or panics frees its place.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := admission.New(admission.Defaults())
		var now, most atomic.Int64
		var running sync.WaitGroup
		failed := errors.New("failed")
		for i := range 50 {
			running.Go(func() {
				defer func() { _ = recover() }()
				err := all.Work(func() error {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(time.Second)
					now.Add(-1)
					if i%3 == 0 {
						panic("at work")
					}
					return failed
				})
				if !errors.Is(err, failed) {
					t.Errorf("the error of the work became %v", err)
				}
			})
		}
		running.Wait()
		if most.Load() != int64(runtime.GOMAXPROCS(0)) {
			t.Errorf("%d at once, with %d processors", most.Load(), runtime.GOMAXPROCS(0))
		}
	})
}
