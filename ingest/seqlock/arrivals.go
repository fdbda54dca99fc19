package seqlock

import (
	"preismon/contracts/event"
)

// Limits of what a reader keeps of each partition: the checkpoints of some
// minutes, and how many items, sites and mandates they name.
const (
	keptArrivals = 2_000
	keptNames    = 250_000
)

// arrivals are what the last checkpoints of a partition made visible, in order
// and without a gap.
type arrivals struct {
	all   []arrived
	names int
}

// arrived is what the checkpoint at a position made visible.
type arrived struct {
	*event.Arrivals
	at event.Mark
}

func (a arrived) names() int { return len(a.Items) + len(a.Sites) + len(a.Mandates) }

// add takes an End. What came before one that does not follow it is forgotten.
func (a *arrivals) add(n notice) {
	at := n.Written[event.StreamObservations]
	last := event.Mark{}
	if len(a.all) > 0 {
		last = a.all[len(a.all)-1].at
	}
	if n.Arrived == nil {
		if at != last {
			*a = arrivals{}
		}
		return
	}
	if n.Arrived.After != last {
		*a = arrivals{}
	}
	one := arrived{n.Arrived, at}
	a.all, a.names = append(a.all, one), a.names+one.names()
	for len(a.all) > keptArrivals || a.names > keptNames {
		a.names -= a.all[0].names()
		a.all = a.all[1:]
	}
}

// untouched reports whether it is known that no arrival after one position and
// up to another is in a selection.
func (a *arrivals) untouched(after, upTo event.Mark, s *event.Selection) bool {
	n := len(a.all)
	if n == 0 || a.all[n-1].at.Compare(upTo) < 0 {
		return false
	}
	for n--; n >= 0; n-- {
		one := a.all[n]
		if one.After.Compare(upTo) < 0 && one.at.Compare(after) > 0 && one.Touch(s) {
			return false
		}
		if one.After.Compare(after) <= 0 {
			return true
		}
	}
	return false
}

// Untouched reports whether it is known that none of the observations that
// became visible after one checkpoint and up to another is in a selection. It
// is known for the last minutes, as long as the watch lasts.
func (r *Reader) Untouched(after, upTo event.Mark, s *event.Selection) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.cfg.Partitions {
		if of := r.arrived[i]; of == nil || !of.untouched(after, upTo, s) {
			return false
		}
	}
	return true
}
