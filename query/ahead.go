package query

import (
	"context"
	"errors"
	"reflect"
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
	var a *Access
	var refused error
	_ = inParallel(ctx,
		func(context.Context) error { // ends the other part, and not the reverse
			if a, refused = s.authorize(ctx, p); refused == nil && !seen.is(a) {
				return errExpired
			}
			return refused
		},
		func(ahead context.Context) error {
			guess := *plan
			var in *read
			if in, err = s.admit(ahead, &guess, seen.Visibility, seen.mark); err == nil {
				page, err = s.execute(ahead, in, r, start)
			}
			return nil
		})
	switch {
	case refused == nil && seen.is(a) && !errors.Is(err, errBehind):
		return page, true, err
	case page != nil:
		page.Rows.Release()
	}
	return nil, refused != nil, refused
}
