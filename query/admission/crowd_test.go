package admission_test

import (
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
)

// crowd has many reads of many accounts reserve more memory than there is.
func crowd(t testing.TB, reads, rounds int) {
	n := admission.New(admission.Config{Memory: 32 << 20, Statements: 32, Wait: time.Minute})
	var running sync.WaitGroup
	for i := range reads {
		ctx := admission.WithAccount(t.Context(), contracts.AccountID(1+i%(reads/4)))
		running.Go(func() {
			for range rounds {
				r, err := n.Begin(ctx, false, 0)
				if err != nil {
					t.Error(err)
					return
				}
				room, err := r.Reserve(ctx, 800<<10)
				if err != nil {
					t.Error(err)
					return
				}
				end, err := n.Rows(ctx, false)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				end()
				room.Resize(400 << 10)
				room.Release()
				r.End()
			}
		})
	}
	running.Wait()
}

// TestCrowd: waiting reads cost the running ones almost nothing. It took
// minutes when each waiting read looked at all others, every 20 ms.
func TestCrowd(t *testing.T) {
	began := time.Now()
	crowd(t, 2_000, 2)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("2,000 reads at once took %v", took)
	}
}
