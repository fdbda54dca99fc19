package admission_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/admission"
)

const mib = 1 << 20

func config() admission.Config {
	return admission.Config{Memory: 64 * mib, Statements: 4, Wait: 5 * time.Second}
}

func begin(t *testing.T, n *admission.Node, a contracts.AccountID, stream bool) *admission.Read {
	t.Helper()
	r := must.Get(n.Begin(admission.WithAccount(t.Context(), a), stream, 0))(t)
	return r
}

func reserve(t *testing.T, r *admission.Read, bytes int64) *admission.Room {
	t.Helper()
	room := must.Get(r.Reserve(t.Context(), bytes))(t)
	return room
}

// TestShares: a single account gets half of what there is for large reads, and
// less when others come; an account that has its share is told so, and what it
// holds.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		first := begin(t, n, 1, true)
		room := reserve(t, first, 24*mib)
		time.Sleep(2 * time.Second)
		first.Sent(22_000)
		_, err := begin(t, n, 1, true).Reserve(t.Context(), 8*mib)
		if fault.KindOf(err) != fault.RateLimited || !admission.Refused(err) || !strings.Contains(err.Error(), "your account: 2 streams, the slowest 0 kB/s") {
			t.Errorf("over its share: %v", err)
		}
		reserve(t, begin(t, n, 2, true), 20*mib)
		// The node has no more for large reads, whichever account requests it.
		_, err = begin(t, n, 3, true).Reserve(t.Context(), 8*mib)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.Unavailable || e.RetryAfter <= 0 {
			t.Errorf("no memory: %v", err)
		}
		reserve(t, begin(t, n, 4, false), mib) // small reads have a reserve
		room.Release()
		reserve(t, begin(t, n, 3, true), 8*mib)
	})
}

// TestReclaim: lent memory is reclaimed for a waiting read, from the account
// that holds most, and is gone when its reader comes back; memory in use is not
// reclaimed.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		var lent []*admission.Room
		dropped := 0
		for range 3 {
			room := reserve(t, begin(t, n, 1, true), 8*mib)
			room.Lend(func() { dropped++ })
			lent = append(lent, room)
		}
		used := reserve(t, begin(t, n, 2, true), 16*mib)
		time.Sleep(time.Second)
		reserve(t, begin(t, n, 3, true), 12*mib)
		if dropped == 0 || dropped == 3 {
			t.Errorf("%d of 3 were reclaimed", dropped)
		}
		there := 0
		for _, room := range lent {
			if room.TakeBack() {
				there++
			}
			room.Release()
		}
		if there+dropped != 3 {
			t.Errorf("%d were reclaimed, and %d are there", dropped, there)
		}
		if s := n.Stats(); s.Held != 28*mib || s.Reclaimed != uint64(dropped) {
			t.Errorf("%+v", s)
		}
		used.Release()
	})
}

// TestReclaimForASmallCharge: a small charge that waits only because a large one
// does takes back nothing itself.
func TestReclaimForASmallCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		for a := range contracts.AccountID(8) {
			reserve(t, begin(t, n, 10+a, false), 2*mib) // together, the reserve of small charges
		}
		dropped := 0
		for a := range contracts.AccountID(4) {
			reserve(t, begin(t, n, 1+a, true), 8*mib).Lend(func() { dropped++ })
		}
		var waiting sync.WaitGroup
		for a, bytes := range map[contracts.AccountID]int64{30: 20 * mib, 31: mib} {
			r := begin(t, n, a, false)
			waiting.Go(func() {
				if a == 31 {
					time.Sleep(time.Millisecond) // after the large one
				}
				_, err := r.Reserve(t.Context(), bytes)
				if err != nil {
					t.Error(err)
				}
			})
		}
		waiting.Wait()
		if dropped != 1 {
			t.Errorf("%d of 4 were reclaimed, and one is enough", dropped)
		}
	})
}

// TestWhatIsThereTakesFromWhatIsLent: where a read turns out to hold more than
// it was charged, or an answer already exists, memory held for clients that do
// not read is dropped until the node is within its memory, and not more.
func TestWhatIsThereTakesFromWhatIsLent(t *testing.T) {
	for name, more := range map[string]func(*admission.Read, *admission.Room){
		"resized": func(_ *admission.Read, room *admission.Room) { room.Resize(20 * mib) },
		"held":    func(r *admission.Read, _ *admission.Room) { r.Hold(12 * mib) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := admission.New(config())
				dropped := 0
				for a := range contracts.AccountID(6) {
					reserve(t, begin(t, n, a+1, true), 8*mib).Lend(func() { dropped++ })
				}
				time.Sleep(time.Second)
				other := begin(t, n, 9, false)
				room := other.Hold(8 * mib)
				if s := n.Stats(); dropped != 0 || s.Held != 56*mib {
					t.Fatalf("%d dropped, %+v", dropped, s)
				}
				more(other, room)
				if s := n.Stats(); dropped != 1 || s.Held != 60*mib || s.Reclaimed != 1 {
					t.Errorf("%d dropped, %+v", dropped, s)
				}
			})
		})
	}
}

// TestOneThatWaitsForItsAccount: a read that waits for memory held by its own
// account does not keep that account's other reads waiting, and no read of an
// account that holds nothing is refused.
func TestOneThatWaitsForItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		ctx := admission.WithAccount(t.Context(), 1)
		stands := func(bytes int64) (*admission.Read, error) { return n.Begin(ctx, true, bytes) }
		first := must.Get(stands(7 * mib))(t) // of the eight that the reads of an account may hold
		second := make(chan error)
		go func() {
			r, err := stands(7 * mib)
			if err == nil {
				r.End()
			}
			second <- err
		}()
		synctest.Wait()
		began := time.Now()
		small := must.Get(stands(64 << 10))(t)
		page := begin(t, n, 1, false)
		room := reserve(t, page, mib)
		if took := time.Since(began); took != 0 {
			t.Errorf("the others waited for %v", took)
		}
		room.Release()
		page.End()
		first.End()
		if err := <-second; err != nil {
			t.Error(err)
		}
		small.End()
		whole := must.Get(stands(40 * mib))(t) // alone, a read may have more than that
		defer whole.End()
		for account := range contracts.AccountID(2) {
			begin(t, n, account+1, false).End()
		}
		if s := n.Stats(); s.Waiting != 0 || s.RefusedAccount != 0 || s.RefusedNode != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestLargeComesToItsTurn: an endless series of small reads does not keep a
// large one waiting, nor does it keep them waiting.
func TestLargeComesToItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for a := range contracts.AccountID(20) {
			running.Go(func() {
				r := begin(t, n, a+1, false)
				defer r.End()
				for ctx.Err() == nil {
					room, err := r.Reserve(ctx, 2*mib)
					if err != nil {
						if ctx.Err() == nil {
							t.Errorf("a small read: %v", err)
						}
						return
					}
					time.Sleep(100 * time.Millisecond)
					room.Release()
				}
			})
		}
		time.Sleep(time.Second)
		for range 10 {
			r := begin(t, n, 50, true)
			began := time.Now()
			room := reserve(t, r, 30*mib)
			if took := time.Since(began); took > time.Second {
				t.Errorf("a large read waited for %v", took)
			}
			time.Sleep(300 * time.Millisecond)
			room.Release()
			r.End()
		}
		cancel()
		running.Wait()
		if s := n.Stats(); s.Peak > 64*mib || s.Waiting != 0 || s.Held != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestLargeIsNotPassedByNewcomers: a charge that waits for the node comes next,
// although others of its size would fit before.
func TestLargeIsNotPassedByNewcomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for a := range contracts.AccountID(6) {
			running.Go(func() {
				r := begin(t, n, a+1, true)
				defer r.End()
				time.Sleep(time.Duration(a) * 17 * time.Millisecond) // they do not end at once
				for ctx.Err() == nil {
					room, err := r.Reserve(ctx, 8*mib)
					if err != nil {
						if ctx.Err() == nil {
							t.Errorf("a read: %v", err)
						}
						return
					}
					time.Sleep(100 * time.Millisecond)
					room.Release()
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Second)
		r := begin(t, n, 50, true)
		began := time.Now()
		room := reserve(t, r, 30*mib)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it waited for %v", took)
		}
		room.Release()
		r.End()
		cancel()
		running.Wait()
	})
}

// TestStatements: an account with many statements waits behind one with few,
// and an endless wait ends in a refusal.
func TestStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := admission.New(config())
		busy, quiet := admission.WithAccount(t.Context(), 1), admission.WithAccount(t.Context(), 2)
		var ends []func()
		for range 4 {
			end := must.Get(n.Rows(busy, false))(t)
			ends = append(ends, end)
		}
		if end, err := n.Records(busy); err != nil {
			t.Errorf("a record beside them: %v", err)
		} else {
			end()
		}
		order := make(chan int, 2)
		for i, ctx := range []context.Context{busy, quiet} {
			go func() {
				if _, err := n.Rows(ctx, false); err == nil {
					order <- i
				}
			}()
			synctest.Wait()
		}
		ends[0]()
		if first := <-order; first != 1 {
			t.Error("the account with most statements went first")
		}
		time.Sleep(time.Minute)
		_, err := n.Rows(quiet, false)
		if !admission.Refused(err) || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a wait without end: %v", err)
		}
		limited, cancel := context.WithTimeout(quiet, time.Second)
		defer cancel()
		if _, err := n.Rows(limited, false); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a wait to the end of its time: %v", err)
		}
		left, leave := context.WithCancel(quiet)
		leave()
		if _, err := n.Rows(left, false); !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
	})
}
