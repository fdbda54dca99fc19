package query

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"preismon/contracts"
	"preismon/query/cache"
)

// lastSeen remembers what each account saw when it was last read. It decides
// nothing: rows read by it are given only when the account, read in the same
// request, sees just that.
type lastSeen = *cache.Cache[contracts.AccountID, Visibility]

func newLastSeen() lastSeen {
	return cache.New(4<<20, func(_ contracts.AccountID, v Visibility) int { return sizeOf(reflect.ValueOf(v)) })
}

// pageAhead reads the page of a cursor while the account and its mandate's
// scope are asked for, by what the account saw when it was last read. They are
// what they were nearly always; when not, the page is thrown away, and read by
// what the account sees now. Asking first would make every page wait for it, as
// a first page has to: it is read up to the watermark that is asked for with them.
func (s *Service) pageAhead(ctx context.Context, p Principal, r ResultsRequest, start time.Time) (*ResultsPage, error) {
	seen, ok := s.seen.Get(p.Account)
	if !ok || r.Cursor == "" {
		return s.pageAfter(ctx, p, r, start)
	}
	plan, err := s.plan(p, r)
	if err != nil {
		return nil, err
	}
	ahead, cancel := context.WithCancel(ctx)
	defer cancel()
	now := beside(func() (*Access, error) {
		a, err := s.access(ctx, p, contracts.ReadResults)
		if err != nil || !a.Visibility.same(seen) {
			cancel()
		}
		return a, err
	})
	page, err := s.pageOf(ahead, plan, r, seen, start)
	a, refused := now()
	switch {
	case refused == nil && a.Visibility.same(seen):
		return page, err
	case page != nil:
		page.Rows.Release()
	}
	if refused != nil {
		return nil, refused
	}
	return s.pageAfter(ctx, p, r, start)
}

// beside calls f in a goroutine of its own. What it gives waits for f; a panic
// of f is one of who waits.
func beside[T any](f func() (T, error)) (wait func() (T, error)) {
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

// pageOf reads the page of a cursor of what is seen.
func (s *Service) pageOf(ctx context.Context, plan *resultsPlan, r ResultsRequest, v Visibility, start time.Time) (*ResultsPage, error) {
	in, err := s.enter(ctx, plan, r, v, Watermark{})
	if err != nil {
		return nil, err
	}
	return s.page(ctx, in, r, start)
}

// pageAfter reads a page after what its caller sees was asked for.
func (s *Service) pageAfter(ctx context.Context, p Principal, r ResultsRequest, start time.Time) (*ResultsPage, error) {
	in, err := s.accept(ctx, p, r)
	if err != nil {
		return nil, err
	}
	s.seen.Put(p.Account, in.vis)
	return s.page(ctx, in, r, start)
}
