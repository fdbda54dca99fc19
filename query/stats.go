package query

import (
	"sync/atomic"

	"preismon/contracts/fault"
	"preismon/query/cache"
)

// Stats counts what a Service has answered since it was created.
type Stats struct {
	Pages      map[Ending]uint64 // of results, by why they ended
	PageRows   uint64            // rows on them
	Streams    uint64            // streams of results that were read to their end
	StreamRows uint64            // rows of all streams, including those that broke off
	Replayed   uint64            // of these, sent from remembered text
	FeedRows   uint64            // rows of all feeds of changes
	Alerts     uint64            // of all feeds of alerts
	Tails      int               // tails that are open
	OverBudget uint64            // pages and streams of results that the hard budget failed

	// Contents of archived files that were requested: found good in an archive,
	// in none of them, or possibly in one that was unavailable; and the damaged
	// copies met on the way, whether or not another was good.
	Found, Missing, Away, Damaged uint64

	// Remembered covers the remembered answers. With CheckRemembered, Checked
	// were compared with a new one, and Differences differed.
	Remembered           cache.Stats
	RememberedStreams    cache.Stats
	StreamsOnDisk        cache.Stats
	Checked, Differences uint64
}

// endings lists all endings of a page.
var endings = []Ending{NothingMore, AtLimit, AtSoftDeadline, AtAnswerBudget}

// stats are the counters behind Stats.
type stats struct {
	pages                                     [4]atomic.Uint64 // in the order of endings
	pageRows, streams, streamRows, overBudget atomic.Uint64
	feedRows, alerts, replayed                atomic.Uint64
	found, missing, away, damaged             atomic.Uint64
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	c := &s.stats
	all := Stats{
		Pages: map[Ending]uint64{}, PageRows: c.pageRows.Load(), Streams: c.streams.Load(), StreamRows: c.streamRows.Load(), Replayed: c.replayed.Load(),
		OverBudget: c.overBudget.Load(), FeedRows: c.feedRows.Load(), Alerts: c.alerts.Load(), Tails: s.tails.open(),
		Remembered: s.store.answers.Stats(), RememberedStreams: s.store.texts.memory.Stats(), StreamsOnDisk: s.store.texts.diskStats(), Checked: s.store.checked.Load(), Differences: s.store.differences.Load(),
		Found: c.found.Load(), Missing: c.missing.Load(), Away: c.away.Load(), Damaged: c.damaged.Load(),
	}
	for i, e := range endings {
		all.Pages[e] = c.pages[i].Load()
	}
	return all
}

func (c *stats) paged(p *ResultsPage, err error) {
	switch {
	case err != nil:
		c.failed(err)
		return
	case p == nil: // a panic is in progress
		return
	}
	for i, e := range endings {
		if e == p.Ending {
			c.pages[i].Add(1)
		}
	}
	c.pageRows.Add(uint64(p.Rows.rows))
}

func (c *stats) fed(r FeedRequest, p *FeedPage) {
	if r.Alerts {
		c.alerts.Add(uint64(p.Rows.rows))
		return
	}
	c.feedRows.Add(uint64(p.Rows.rows))
}

func (c *stats) streamed(err error) {
	if err != nil {
		c.failed(err)
		return
	}
	c.streams.Add(1)
}

func (c *stats) failed(err error) {
	if fault.KindOf(err) == fault.Timeout {
		c.overBudget.Add(1)
	}
}
