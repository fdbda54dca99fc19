package query

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"preismon/contracts"
	"preismon/query/cache"
)

// lastSeen remembers what each account saw when it was last read. It decides
// nothing: rows read by it are returned only if the account, read in the same
// request, still sees exactly that.
type lastSeen = *cache.Cache[contracts.AccountID, seenUpTo]

// seenUpTo is what an account saw, and up to where the tables were complete.
type seenUpTo struct {
	Visibility
	mark Watermark
}

// is reports whether the account still sees that, in tables that hold all of it.
func (u seenUpTo) is(a *Access) bool {
	return a.Visibility.same(u.Visibility) && a.Visibility.Snapshot == u.Snapshot && u.mark.Compare(a.Watermark) <= 0
}

func newLastSeen() lastSeen {
	return cache.New(4<<20, func(_ contracts.AccountID, u seenUpTo) int { return sizeOf(reflect.ValueOf(u)) })
}

// pageAhead reads the page of a cursor by what the account saw when it was last
// read, while the account and its mandate's scope are being read; done reports
// whether the request is settled. Access and catalogue rarely change in between;
// if they did, the page is discarded and must be read again by what the account
// sees now: rows show the catalogue as it was remembered at that snapshot.
// Reading the access first would delay every page, as it does a first page,
// which is read up to the watermark that is returned with the access.
func (s *Service) pageAhead(ctx context.Context, p Principal, plan *resultsPlan, r ResultsRequest, start time.Time) (page *ResultsPage, done bool, err error) {
	seen, ok := s.seen.Get(p.Account)
	if !ok || plan.cursor == "" {
		return nil, false, nil
	}
	ahead, cancel := context.WithCancel(ctx)
	defer cancel()
	now := concurrently(func() (*Access, error) {
		a, err := s.authorize(ctx, p)
		if err != nil || !seen.is(a) {
			cancel()
		}
		return a, err
	})
	guess := *plan
	in, err := s.admit(ahead, &guess, seen.Visibility, seen.mark)
	if err == nil {
		page, err = s.execute(ahead, in, r, start)
	}
	a, refused := now()
	switch {
	case refused == nil && seen.is(a) && !errors.Is(err, errBehind):
		return page, true, err
	case page != nil:
		page.Rows.Release()
	}
	return nil, refused != nil, refused
}

// concurrently calls f in a goroutine of its own and returns a function that waits
// for its result; a panic of f is raised again in the waiting caller.
func concurrently[T any](f func() (T, error)) (wait func() (T, error)) {
	var (
		v        T
		err      error
		panicked any
		done     = make(chan struct{})
	)
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}()
		v, err = f()
	}()
	return func() (T, error) {
		<-done
		if panicked != nil {
			panic(panicked)
		}
		return v, err
	}
}
