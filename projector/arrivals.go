package projector

import (
	"cmp"
	"math"
	"slices"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Limits of what readers are told of a batch.
const (
	maxArrivedItems    = 2_000
	maxArrivedSites    = 200
	maxArrivedMandates = 1_000
)

// arrivals collects what a batch makes visible, for readers.
type arrivals struct {
	earliest, latest int64
	items, mandates  few[uint64]
	sites            few[string]
}

func newArrivals() *arrivals {
	return &arrivals{
		earliest: math.MaxInt64, latest: math.MinInt64,
		items: few[uint64]{most: maxArrivedItems}, sites: few[string]{most: maxArrivedSites}, mandates: few[uint64]{most: maxArrivedMandates},
	}
}

func (a *arrivals) add(site string, o *contracts.Observation, mandates []uint64) {
	ms := o.CapturedAt.UnixMilli()
	a.earliest, a.latest = min(a.earliest, ms), max(a.latest, ms)
	a.items.add(uint64(o.ItemID))
	a.sites.add(site)
	a.mandates.add(mandates...)
}

// after returns what was collected, for a checkpoint that follows another; nil:
// nothing is known of the batch.
func (a *arrivals) after(last event.Mark) *event.Arrivals {
	if a == nil {
		return nil
	}
	return &event.Arrivals{After: last, Earliest: a.earliest, Latest: a.latest, Items: a.items.sorted(), Sites: a.sites.sorted(), Mandates: a.mandates.sorted()}
}

// few is a set of values that is given up if it becomes too large.
type few[T cmp.Ordered] struct {
	most     int
	all      []T // unsorted, some of them repeated
	tooLarge bool
}

func (f *few[T]) add(values ...T) {
	for _, v := range values {
		if n := len(f.all); f.tooLarge || n > 0 && f.all[n-1] == v {
			continue
		}
		if f.all = append(f.all, v); len(f.all) > 4*f.most {
			f.sorted()
		}
	}
}

// sorted returns the values, ascending; nil: they are too many.
func (f *few[T]) sorted() []T {
	slices.Sort(f.all)
	if f.all = slices.Compact(f.all); len(f.all) > f.most {
		f.tooLarge, f.all = true, nil
	}
	if f.tooLarge {
		return nil
	}
	return append([]T{}, f.all...)
}
