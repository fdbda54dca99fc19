package event_test

import (
	"math"
	"testing"

	"preismon/contracts/event"
)

func TestArrivalsTouch(t *testing.T) {
	t.Parallel()
	some := event.Arrivals{Earliest: 100, Latest: 200, Items: []uint64{3, 5, 9}, Sites: []string{"a.de", "c.de"}, Mandates: []uint64{1, 4}}
	unnamed := event.Arrivals{Earliest: 100, Latest: 200}
	nothing := event.Arrivals{Earliest: math.MaxInt64, Latest: math.MinInt64, Items: []uint64{}, Sites: []string{}, Mandates: []uint64{}}
	all := event.Selection{Mandate: 1, From: math.MinInt64, To: math.MaxInt64}
	with := func(change func(*event.Selection)) event.Selection {
		s := all
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		of      event.Selection
		some    bool
		unnamed bool
	}{
		"all of a mandate":       {all, true, true},
		"of a mandate not named": {with(func(s *event.Selection) { s.Mandate = 2 }), false, true},
		"an item":                {with(func(s *event.Selection) { s.Items = []uint64{5} }), true, true},
		"another":                {with(func(s *event.Selection) { s.Items = []uint64{4} }), false, true},
		"one of some":            {with(func(s *event.Selection) { s.Items = []uint64{4, 9} }), true, true},
		"none of some":           {with(func(s *event.Selection) { s.Items = []uint64{4, 10} }), false, true},
		"a site":                 {with(func(s *event.Selection) { s.Site = "c.de" }), true, true},
		"another site":           {with(func(s *event.Selection) { s.Site = "b.de" }), false, true},
		"an item at a site":      {with(func(s *event.Selection) { s.Site, s.Items = "a.de", []uint64{3} }), true, true},
		"up to the first":        {with(func(s *event.Selection) { s.To = 100 }), true, true},
		"before it":              {with(func(s *event.Selection) { s.To = 99 }), false, false},
		"from the last on":       {with(func(s *event.Selection) { s.From = 200 }), true, true},
		"after it":               {with(func(s *event.Selection) { s.From = 201 }), false, false},
	} {
		if got := some.Touch(&c.of); got != c.some {
			t.Errorf("%s: %t", name, got)
		}
		if got := unnamed.Touch(&c.of); got != c.unnamed {
			t.Errorf("%s, of arrivals without names: %t", name, got)
		}
		if nothing.Touch(&c.of) {
			t.Errorf("%s: touched by nothing", name)
		}
	}
}
