package admission_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"preismon/contracts/fault"
	"preismon/query/admission"
)

// TestARefusedStreamIsNoneOfItsAccount: a refusal names the streams that run,
// and not the one that it refuses, which has sent nothing.
func TestARefusedStreamIsNoneOfItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		ctx := admission.WithAccount(t.Context(), 1)
		for range 2 {
			r, err := n.Begin(ctx, true, 4*mib) // half of what the reads of an account may hold
			must(t, err)
			r.Sent(5_000_000)
		}
		_, err := n.Begin(ctx, true, 4*mib)
		if fault.KindOf(err) != fault.RateLimited || !strings.Contains(err.Error(), "your account: 2 streams, the slowest 1000 kB/s") {
			t.Error(err)
		}
	})
}
