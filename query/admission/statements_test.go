package admission_test

import (
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/admission"
)

// TestSumsLeaveTheOthersRoom: however many accounts sum up observations, and
// however slowly, the statements that every request needs and those of pages
// run at once; and a place that becomes free goes to an account that has none.
func TestSumsLeaveTheOthersRoom(t *testing.T) {
	for _, accounts := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			n := admission.New(admission.Config{Memory: admission.MinMemory, Statements: 32, Wait: 10 * time.Second})
			running := make(chan func(), 8*accounts)
			for i := range 8 * accounts { // an account has eight heavy reads at once
				ctx := admission.WithAccount(t.Context(), contracts.AccountID(1+i%accounts))
				go func() {
					end, err := n.Sums(ctx)
					if err != nil {
						if fault.KindOf(err) != fault.Unavailable {
							t.Errorf("account %d: %v", 1+i%accounts, err)
						}
						return
					}
					running <- end
				}()
			}
			synctest.Wait()
			if s := n.Stats(); s.Sums != min(8*accounts, 16) || s.StatementsWaiting != max(0, 8*accounts-16) {
				t.Errorf("%d accounts: %+v", accounts, s)
			}
			quiet, began := admission.WithAccount(t.Context(), 50), time.Now()
			for range 16 {
				must.Get(n.Records(quiet))(t)
				must.Get(n.Rows(quiet, false))(t)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("the others waited for %v", took)
			}
			admitted := make(chan error, 1)
			go func() {
				_, err := n.Sums(quiet)
				admitted <- err
			}()
			synctest.Wait()
			(<-running)()
			if err := <-admitted; err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		})
	}
}
