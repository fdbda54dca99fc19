package admission_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/admission"
)

// TestARefusedStreamIsNoneOfItsAccount: a refusal names the streams that run,
// and not the one that it refuses, which has sent nothing.
func TestARefusedStreamIsNoneOfItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		ctx := admission.WithAccount(t.Context(), 1)
		for range 2 {
			r := must.Get(n.Begin(ctx, true, 4*mib))(t) // half of what the reads of an account may hold
			r.Sent(5_000_000)
		}
		_, err := n.Begin(ctx, true, 4*mib)
		if fault.KindOf(err) != fault.RateLimited || !strings.Contains(err.Error(), "your account: 2 streams, the slowest 1000 kB/s") {
			t.Error(err)
		}
	})
}

// TestRefusedInLine: a read that only stood behind others of other accounts is
// refused for the node, and counted.
func TestRefusedInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		reserve(t, begin(t, n, 1, true), 8*mib)
		reserve(t, begin(t, n, 3, true), 16*mib)
		refused := make(chan error, 3)
		wait := func(a contracts.AccountID, bytes int64) {
			r := begin(t, n, a, true)
			go func() {
				_, err := r.Reserve(t.Context(), bytes)
				refused <- err
			}()
			time.Sleep(time.Second)
		}
		wait(2, 30*mib)
		wait(1, 4*mib) // would fit
		wait(4, 30*mib)
		for range 3 {
			if err := <-refused; fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "This node has no memory for reads left now; your account: ") {
				t.Error(err)
			}
			if s := n.Stats(); s.Waiting == 2 && s.RefusedNode != 1 || s.Waiting == 1 && s.RefusedNode != 2 || s.RefusedAccount != 0 {
				t.Errorf("%+v", s)
			}
		}
		if s := n.Stats(); s.RefusedNode != 3 {
			t.Errorf("%+v", s)
		}
	})
}
