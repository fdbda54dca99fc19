package query

import (
	"context"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// panicking is a Store that panics at its first read of sites.
type panicking struct {
	Store
	asked int
}

func (s *panicking) Sites(context.Context, Visibility, SitesQuery) ([]contracts.Site, error) {
	if s.asked++; s.asked == 1 {
		panic("the first read of sites")
	}
	return []contracts.Site{{Site: "shop.example"}}, nil
}

// TestPanicOfARememberedRead: who asks the same after a read that panicked
// reads again, and does not wait for the one that never ends.
func TestPanicOfARememberedRead(t *testing.T) {
	r := must.Get(newRemembering(&panicking{}, Defaults()))(t)
	sites := func() (found []contracts.Site, panicked any, err error) {
		defer func() { panicked = recover() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		found, err = r.Sites(ctx, Visibility{Snapshot: 1}, SitesQuery{})
		return found, nil, err
	}
	if _, panicked, _ := sites(); panicked == nil {
		t.Fatal("the first read does not panic")
	}
	for range 2 {
		if found, panicked, err := sites(); len(found) != 1 || err != nil || panicked != nil {
			t.Errorf("%v, %v, %v", found, err, panicked)
		}
	}
}
