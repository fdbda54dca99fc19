package alert

import "slices"

// Fires reports whether the last of a pair's captures fires. visible holds the
// captures in the order in which they became visible. before is the capture
// before the run that says so, with which a drop is compared; nil: there is
// none within Memory. Captures older than Span before the last one do not
// count, so passing more of them changes nothing.
//
// A capture that was made before another one that was already visible is late:
// it fires nothing and takes no part. A capture that says nothing takes no part
// either. The rule fires with the Confirm-th capture of a run that says so
// within Memory, if it was armed when the run began: by a capture that was
// clear within Memory before, or, for a price rule, because there was no such
// run in that time. It fires once per run.
func (r Rule) Fires(visible []Judged) (before *Judged, fires bool) {
	relevant := r.relevant(visible)
	start := len(relevant) - r.Confirm
	if start < 0 || relevant[len(relevant)-1].Ms-relevant[start].Ms > Memory.Milliseconds() {
		return nil, false
	}
	run, from := relevant[start:], 0
	for relevant[from].Ms < run[0].Ms-Memory.Milliseconds() {
		from++
	}
	past := relevant[from:start]
	if r.Kind == PriceDrop {
		return lastOf(past), len(past) > 0 && r.dropped(past, run)
	}
	if slices.ContainsFunc(run, func(j *Judged) bool { return j.Says != Holds }) {
		return nil, false
	}
	begun := start
	for begun > from && relevant[begun-1].Says == Holds { // the run is longer
		begun--
	}
	if r.confirmed(relevant[begun : len(relevant)-1]) { // and was decided earlier
		return nil, false
	}
	return lastOf(relevant[from:begun]), r.armed(past)
}

// lastOf returns the last capture; nil: there is none.
func lastOf(of []*Judged) *Judged {
	if len(of) == 0 {
		return nil
	}
	return of[len(of)-1]
}

// confirmed reports whether some of the captures that hold, as many as confirm a
// run, lie within Memory.
func (r Rule) confirmed(holding []*Judged) bool {
	for i := r.Confirm; i <= len(holding); i++ {
		if holding[i-1].Ms-holding[i-r.Confirm].Ms <= Memory.Milliseconds() {
			return true
		}
	}
	return false
}

// relevant returns the captures that take part; none if the last one does not.
func (r Rule) relevant(visible []Judged) (relevant []*Judged) {
	last := &visible[len(visible)-1]
	newest := last.Ms - r.Span().Milliseconds()
	for i := range visible {
		j := &visible[i]
		if j.Ms < newest {
			if j == last {
				return nil
			}
			continue
		}
		newest = j.Ms
		if j.Says == Nothing || r.Kind == PriceDrop && j.Offer.Currency != last.Offer.Currency {
			continue
		}
		relevant = append(relevant, j)
	}
	if len(relevant) == 0 || relevant[len(relevant)-1] != last {
		return nil
	}
	return relevant
}

// armed reports whether the rule can fire after these captures.
func (r Rule) armed(past []*Judged) bool {
	armed, run := r.ofPrice(), 0
	for _, j := range past {
		switch j.Says {
		case Holds:
			if run++; run >= r.Confirm {
				armed = false
			}
			continue
		case Clear:
			armed = true
		}
		run = 0
	}
	return armed
}

// dropped reports whether every capture of a run costs less, by the percentage,
// than the capture before the run, and the first of them less than any before.
func (r Rule) dropped(past, run []*Judged) bool {
	was := past[len(past)-1]
	for _, j := range run {
		if 100*uint64(j.Offer.Price) > uint64(100-r.Percent)*uint64(was.Offer.Price) {
			return false
		}
	}
	for _, j := range past {
		if j.Offer.Price <= run[0].Offer.Price {
			return false
		}
	}
	return true
}
