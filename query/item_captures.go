package query

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// readIntervals reads how often the product is captured at each site. It reads
// nothing for callers that may not read orders, and knows nothing if they see
// too many.
func (o *itemSumming) readIntervals(ctx context.Context) error {
	if !o.reasons {
		return nil
	}
	all, err := o.s.store.PairOrders(ctx, o.in.vis, []contracts.ItemID{o.r.ItemID})
	if err != nil {
		return err
	}
	visible, err := o.s.statusOrders(ctx, o.in.vis, 0)
	if fault.KindOf(err) == fault.Invalid && err != nil { // too many
		return nil
	}
	if err != nil {
		return err
	}
	var pairs []OrderPair
	wanted := map[contracts.OrderID]*judge{}
	for pair, ids := range all {
		pairs = append(pairs, OrderPair{Pair: pair, Orders: ids})
		for _, id := range ids {
			wanted[id] = nil
		}
	}
	var orders []Order
	for _, order := range visible {
		if _, ok := wanted[order.OrderID]; ok {
			orders = append(orders, order)
		}
	}
	judges, err := o.s.judges(ctx, o.in.vis, orders, pairs)
	if err != nil {
		return err
	}
	for i, order := range orders {
		wanted[order.OrderID] = judges[i]
	}
	o.every = map[contracts.SiteKey]time.Duration{}
	for _, p := range pairs {
		var mine []*judge
		for _, id := range p.Orders {
			if j := wanted[id]; j != nil {
				mine = append(mine, j)
			}
		}
		if of := ruling(p.Pair, mine); of != nil {
			o.every[p.Site] = of.interval(p.Pair)
		}
	}
	return nil
}

// schedule adds how often a site is captured and when it is due.
func (o *itemSumming) schedule(site *ItemSite) {
	every := o.every[site.Site]
	if every < time.Second { // not known; no schedule is shorter
		return
	}
	site.IntervalSeconds = new(int64(every / time.Second))
	if newest, ok := o.newest[site.Site]; ok {
		due := newest.ms + dueAfter(every, newest.state == contracts.ProductNotFound).Milliseconds()
		site.NextDueAt = new(string(o.zone.append(nil, due)))
	}
}

// runBytes is roughly the memory of a run, as it is read and as a record.
const runBytes = 300

// captureRun is consecutive captures that all found state.
type captureRun struct {
	state    contracts.Outcome
	from, to int64 // ms
	captures int
}

// captureRuns collects the runs of a pair from its rows in the order of time.
type captureRuns struct {
	all    []captureRun
	ms     int64 // of the capture that is being read
	state  contracts.Outcome
	before contracts.Outcome // of the capture before it
	begun  bool
}

// add takes a row. A capture has a state only if all of its rows have it:
// otherwise it is not of any run.
func (c *captureRuns) add(ms int64, state contracts.Outcome) {
	if c.begun && c.ms == ms {
		if state != c.state {
			c.state = contracts.OutcomeUnknown
		}
		return
	}
	c.end()
	c.ms, c.state, c.begun = ms, state, true
}

// end takes the capture whose rows have all been added.
func (c *captureRuns) end() {
	switch {
	case !c.begun || c.state != contracts.AccessRestricted && c.state != contracts.ProductNotFound:
	case c.state == c.before:
		run := &c.all[len(c.all)-1]
		run.to = c.ms
		run.captures++
	default:
		c.all = append(c.all, captureRun{c.state, c.ms, c.ms, 1})
	}
	c.before, c.begun = c.state, false
}

// readRuns reads the rows of the window, but only where the days tell that
// there are runs. Memory for blocks was charged for the days.
func (o *itemSumming) readRuns(ctx context.Context) error {
	o.runs = map[contracts.SiteKey]*captureRuns{}
	q := o.in.query
	for _, st := range o.days {
		if st.NotFound > 0 || o.reasons && st.Unknown > 0 && st.RestrictedMs > 0 {
			q.Selectors.Site = contracts.SiteKey(st.Text)
			o.runs[q.Selectors.Site] = &captureRuns{}
		}
	}
	switch len(o.runs) {
	case 0:
		return nil
	case 1: // only the rows of this site
	default:
		q.Selectors.Site = o.in.query.Selectors.Site
	}
	q.Ascending = true
	held := 0
	err := o.s.store.Results(ctx, o.in.vis, &q, func(b *Block) error {
		for k := range b.Len {
			i := b.At(k)
			if runs := o.runs[contracts.SiteKey(b.Site.At(i))]; runs != nil {
				held -= len(runs.all)
				runs.add(b.CapturedMs[i], b.stateOf(i))
				held += len(runs.all)
			}
		}
		o.room.Resize(o.bytes + int64(held)*runBytes)
		return nil
	})
	for _, runs := range o.runs {
		runs.end()
	}
	return err
}

// runsOf returns the runs of a site with a state, which the caller may learn.
func (o *itemSumming) runsOf(site contracts.SiteKey, state contracts.Outcome) []CaptureRun {
	all := []CaptureRun{}
	runs := o.runs[site]
	if runs == nil || state == contracts.AccessRestricted && !o.reasons {
		return all
	}
	at := func(ms int64) string { return string(o.zone.append(nil, ms)) }
	for _, run := range runs.all {
		if run.state == state {
			all = append(all, CaptureRun{at(run.from), at(run.to), run.captures})
		}
	}
	return all
}
