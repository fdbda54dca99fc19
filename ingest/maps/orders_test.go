package maps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
)

// is returns the catalogue to an import.
func (s *Standing) is(context.Context, func(contracts.ItemID) bool) (*Standing, error) {
	return s, nil
}

// An import that ends between two orders of a site, when items moved from one
// to the other, takes none of them out of view.
func TestOrdersThatAreHalfPublished(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	rows := func(from, to int) (all []string) {
		for i := from; i < to; i++ {
			all = append(all, fmt.Sprintf("s,k%d,1700000000,1.50,1,", i))
		}
		return all
	}
	standing := NewStanding("M")
	stop := errors.New("the power is out")
	publish := func(most int, rows []string) error {
		r := rowsOfFile(t, file, rows...)
		before := *standing
		before.Orders = maps.Clone(standing.Orders)
		r.Standing = before.is
		_, err := Import(t.Context(), r, func(_ context.Context, e *event.Event) error {
			if o, ok := e.Data.(*contracts.Order); ok {
				if most--; most < 0 {
					return stop
				}
				standing.Add(o)
			}
			return nil
		})
		return err
	}
	const first = itemsPerOrder + 1_000
	if err := publish(2, rows(0, first)); err != nil || len(standing.Orders) != 2 {
		t.Fatalf("%v, %d orders", err, len(standing.Orders))
	}
	before := map[contracts.ItemID]bool{}
	for _, o := range standing.Orders {
		for _, item := range o.Items {
			before[item] = true
		}
	}
	if err := publish(1, rows(first, first+500)); !errors.Is(err, stop) { // other products
		t.Fatal(err)
	}
	for _, o := range standing.Orders {
		for _, item := range o.Items {
			delete(before, item)
		}
	}
	if len(before) > 0 {
		t.Errorf("%d items are in no order any more", len(before))
	}
}
