package store

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
	"preismon/query"
	"preismon/query/admission"
)

// tables is what statements read in this test: each takes a while, and sees
// what is there when it begins.
type tables struct {
	mu    sync.Mutex
	mark  uint64
	fails error
	hang  bool
	asked [][]contracts.AccountID
}

const statementTime = 10 * time.Millisecond

func (t *tables) read(_ context.Context, accounts []contracts.AccountID) (moment, error) {
	t.mu.Lock()
	t.asked = append(t.asked, accounts)
	mark, err, hang := t.mark, t.fails, t.hang
	t.hang = false
	t.mu.Unlock()
	if hang {
		time.Sleep(time.Hour)
	}
	time.Sleep(statementTime)
	return moment{watermark: query.Watermark{Epoch: 1, Seq: mark}}, err
}

func (t *tables) write(mark uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mark = mark
}

// TestSharedIsAsOfAfterTheQuestion: a caller that arrives while a statement
// runs gets what was written before its call, and all waiting callers share one
// statement.
func TestSharedIsAsOfAfterTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &tables{}
		s := &shared[contracts.AccountID, moment]{read: w.read}
		var all sync.WaitGroup
		ask := func(account contracts.AccountID, atLeast uint64) {
			all.Go(func() {
				if st, err := s.ask(t.Context(), account); err != nil || st.watermark.Seq < atLeast {
					t.Errorf("account %d: %+v, %v; %d was written before the question", account, st, err, atLeast)
				}
			})
		}
		ask(1, 0)
		time.Sleep(statementTime / 2) // the statement has begun, and does not see what comes now
		w.write(7)
		for account := range contracts.AccountID(50) {
			ask(2+account, 7)
		}
		all.Wait()
		if len(w.asked) != 2 || len(w.asked[1]) != 50 {
			t.Errorf("statements for %v, want one for the first account and one for all others", w.asked)
		}
	})
}

// TestSharedWhileAReadHangs: a statement that hangs delays only the callers that
// share it, and those no longer than their own deadline.
func TestSharedWhileAReadHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &tables{hang: true}
		s := &shared[contracts.AccountID, moment]{read: w.read}
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := s.ask(ctx, 1); fault.KindOf(err) != fault.Timeout {
				t.Errorf("after a second: %v", err)
			}
		})
		time.Sleep(time.Millisecond)
		began := time.Now()
		if _, err := s.ask(t.Context(), 2); err != nil || time.Since(began) > patience+2*statementTime {
			t.Errorf("beside a statement that hangs: %v after %s", err, time.Since(began))
		}
		all.Wait()
		time.Sleep(time.Hour)
	})
}

// TestSharedIsNeverAnOldOne: when a statement fails, no caller gets the result
// of an earlier one.
func TestSharedIsNeverAnOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &tables{mark: 1}
		s := &shared[contracts.AccountID, moment]{read: w.read}
		must.Get(s.ask(t.Context(), 1))(t)
		away := errors.New("away")
		w.fails = away
		if _, err := s.ask(t.Context(), 1); !errors.Is(err, away) {
			t.Errorf("got %v", err)
		}
	})
}

// TestSharedIsOfNoAccount: who waits for a shared statement is not refused for
// what the first of them holds, and is not told of it.
func TestSharedIsOfNoAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := admission.New(admission.Config{Memory: admission.MinMemory, Statements: 2, Wait: time.Second})
		s := &shared[contracts.AccountID, moment]{read: func(ctx context.Context, _ []contracts.AccountID) (moment, error) {
			_, err := node.Records(ctx)
			return moment{}, kind(err)
		}}
		busy := admission.WithAccount(t.Context(), 1)
		for range 2 {
			must.Get(node.Records(busy))(t)
		}
		must.Get(node.Begin(busy, true, 0))(t)
		var all sync.WaitGroup
		for account := range contracts.AccountID(2) {
			all.Go(func() {
				_, err := s.ask(admission.WithAccount(t.Context(), 1+account), 1+account)
				if fault.KindOf(err) != fault.Unavailable || strings.Contains(err.Error(), "your account") {
					t.Errorf("account %d: %v", 1+account, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

// TestSharedWaitsForAsManyAsBefore: a statement waits while requests keep
// coming, and no longer than until there are as many as expected.
func TestSharedWaitsForAsManyAsBefore(t *testing.T) {
	for _, c := range []struct {
		expected int
		arrive   []time.Duration // since the first request
		shared   int             // by how many of them
		begins   time.Duration
	}{
		{expected: 1, arrive: []time.Duration{0}, shared: 1, begins: 0},
		{expected: 3, arrive: []time.Duration{0, 1, 2}, shared: 3, begins: 4},
		{expected: 3, arrive: []time.Duration{0, 1, 5}, shared: 3, begins: 8},
		{expected: 3, arrive: []time.Duration{0, 9}, shared: 1, begins: 4}, // none came in the first four
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &tables{}
			var began time.Duration
			start := time.Now()
			s := &shared[contracts.AccountID, moment]{gatherDelay: 4 * time.Millisecond, read: func(ctx context.Context, accounts []contracts.AccountID) (moment, error) {
				if began == 0 {
					began = time.Since(start)
				}
				return w.read(ctx, accounts)
			}}
			s.expect(c.expected)
			var all sync.WaitGroup
			for i, after := range c.arrive {
				all.Go(func() {
					time.Sleep(after * time.Millisecond)
					if _, err := s.ask(t.Context(), contracts.AccountID(i)); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if len(w.asked[0]) != c.shared || began != c.begins*time.Millisecond {
				t.Errorf("%+v: shared by %d, begun after %s", c, len(w.asked[0]), began)
			}
		})
	}
}
