package market

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Late chunks: one in a hundred is published only hours later.
const (
	lateOf10000 = 100
	lateLeast   = msHour
	lateSpan    = 7 * msHour
)

// chunk is one future event: some captures of one run.
type chunk struct {
	produced int64
	rhythm   int
	run      int64
	first    int // place of its first pair in the rhythm
}

// start returns when a run begins, in tenths of a second so that Live finds
// room for its own captures; ok is false in quiet hours.
func (m *Market) start(r *rhythm, run int64) (at int64, ok bool) {
	nominal := run*r.interval + r.offset
	if r.rests(int(nominal / msHour % 24)) {
		return 0, false
	}
	return nominal + int64(m.draw(drawRun, r.key, uint64(run))%uint64(r.jitter))/100*100, true
}

// capture returns when a run that began at start captures the pair at that
// place.
func (m *Market) capture(r *rhythm, run, start int64, place int) int64 {
	if !r.spread {
		return start
	}
	gap := r.length() / int64(len(r.pairs))
	at := start + int64(place)*gap/100*100
	if room := gap/100 - 1; room > 0 {
		at += int64(m.draw(drawCapture, r.key^uint64(run), uint64(place))%uint64(room)) * 100
	}
	return at
}

// delay returns how long after a capture its event is published at most.
func (r *rhythm) delay() int64 { return r.length() + lateLeast + lateSpan + 1_000 }

// MaxDelay returns how long after a capture its event is published at most: a
// chunk waits for the last of its captures, and a late one some hours more.
func (m *Market) MaxDelay() time.Duration {
	var most int64
	for i := range m.rhythms {
		most = max(most, m.rhythms[i].delay())
	}
	return time.Duration(most) * time.Millisecond
}

// first and end return the places of the pairs that a run captures.
func (r *rhythm) first(run int64) int {
	if r.window == 0 {
		return 0
	}
	return int(run % int64(len(r.pairs)-r.window+1))
}

func (r *rhythm) end(run int64) int {
	if r.window == 0 {
		return len(r.pairs)
	}
	return r.first(run) + r.window
}

// chunks appends the chunks of a rhythm that are published in [from, to).
func (m *Market) chunks(all []chunk, index int, from, to int64) []chunk {
	r := &m.rhythms[index]
	slowest := r.jitter + r.delay()
	for run := (from - r.offset - slowest) / r.interval; run*r.interval+r.offset < to; run++ {
		start, ok := m.start(r, run)
		if !ok {
			continue
		}
		for first := r.first(run); first < r.end(run); first += r.chunk {
			last := min(first+r.chunk, len(r.pairs)) - 1
			h := m.draw(drawChunk, r.key^uint64(run), uint64(first))
			produced := m.capture(r, run, start, last) + 120 + int64(h%700)
			if chance(h, lateOf10000) {
				produced += lateLeast + int64(h>>8%uint64(lateSpan))
			}
			if produced >= from && produced < to {
				all = append(all, chunk{produced, index, run, first})
			}
		}
	}
	return all
}

// published returns the chunks published in [from, to), in the order of their
// publication, computed hour by hour.
func (m *Market) published(from, to time.Time) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		var hour []chunk
		end := to.UnixMilli()
		for at := from.UnixMilli(); at < end; at += msHour {
			hour = hour[:0]
			for i := range m.rhythms {
				hour = m.chunks(hour, i, at, min(at+msHour, end))
			}
			slices.SortFunc(hour, func(a, b chunk) int {
				return cmp.Or(cmp.Compare(a.produced, b.produced), cmp.Compare(a.rhythm, b.rhythm),
					cmp.Compare(a.run, b.run), cmp.Compare(a.first, b.first))
			})
			for _, c := range hour {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Observations returns the events published in [from, to), both of which count
// in milliseconds: each event is part of one crawl run at one site, in the
// order of ProducedAt. ProducedAt is never before the captures of an event;
// about one event in a hundred is published hours after them. Adjoining ranges
// together return what the whole range returns. To continue after an
// interruption, start at the ProducedAt of the last event that was published:
// it and any others of the same instant are returned again, with the same ids.
func (m *Market) Observations(from, to time.Time) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for c := range m.published(from, to) {
			if !yield(m.batch(c)) {
				return
			}
		}
	}
}

func (m *Market) batch(c chunk) *event.Event {
	r := &m.rhythms[c.rhythm]
	s := &m.sites[r.site]
	pairs := r.pairs[c.first:min(c.first+r.chunk, len(r.pairs))]
	start, _ := m.start(r, c.run)
	w := newPage(len(pairs) * s.maxOffers)
	b := &contracts.Observations{
		Site:         s.Site.Site,
		Run:          r.name + "-" + time.UnixMilli(start).UTC().Format("20060102T150405Z"),
		Observations: make([]contracts.Observation, len(pairs)),
	}
	for i, p := range pairs {
		b.Observations[i] = m.observe(p, m.capture(r, c.run, start, c.first+i), w)
	}
	run := m.draw(drawChunk, r.key, uint64(c.run))
	return &event.Event{
		ID:   uuidOf(mix(run^r.makeup), m.draw(drawChunk, run+uint64(c.first), r.key)),
		Kind: event.KindObservations, Producer: Producer, ProducedAt: time.UnixMilli(c.produced).UTC(), Data: b,
	}
}

// Volume is how much is in a range of time.
type Volume struct {
	Events       int // exact
	Observations int // exact
	Rows         int // estimated, within a few percent
}

// Volume returns how much Observations returns for the same range, at a small
// part of the cost.
func (m *Market) Volume(from, to time.Time) Volume {
	var v Volume
	counts := make([]int, len(m.rhythms))
	for c := range m.published(from, to) {
		r := &m.rhythms[c.rhythm]
		v.Events++
		counts[c.rhythm] += min(r.chunk, len(r.pairs)-c.first)
	}
	for i, n := range counts {
		v.Observations += n
		v.Rows += int(float64(n) * m.rhythms[i].density())
	}
	return v
}

// density returns how many rows a capture of the rhythm has on average: most of
// its pairs are on sale, a few are not.
func (r *rhythm) density() float64 {
	if len(r.pairs) == 0 || r.pairs[0].site.maxOffers == 1 || r.pairs[0].away {
		return 1
	}
	offers := 0
	for _, p := range r.pairs {
		offers += 2 + int(p.hash>>16%uint64(p.site.maxOffers-1))
	}
	const onSale, away = 0.92, 0.2
	return onSale*(float64(offers)/float64(len(r.pairs))-away) + 1 - onSale
}

// LiveCaptures returns the captures that Live adds to the crawl runs, for whole
// seconds from the second of from to the last one before to: pairs drawn from
// the whole market, each an event of its own.
func (m *Market) LiveCaptures(from, to time.Time) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		if m.cfg.LiveRate < 1 {
			return
		}
		for sec := from.Unix(); sec < to.Unix(); sec++ {
			h := m.draw(drawLive, uint64(sec), uint64(len(m.pairs)))
			for j := range uint64(m.cfg.LiveRate) {
				// Crawl runs capture at tenths of a second; these fall in
				// between.
				at := sec*1_000 + 50 + int64(j*9/uint64(m.cfg.LiveRate))*100
				p := m.pairs[(h%uint64(len(m.pairs))+j)%uint64(len(m.pairs))]
				id := m.draw(drawLive, h^mix(uint64(at)), j)
				e := &event.Event{
					ID: uuidOf(id, mix(id^p.hash)), Kind: event.KindObservations, Producer: Producer,
					ProducedAt: time.UnixMilli(at + 20).UTC(),
					Data: &contracts.Observations{
						Site: p.site.Site.Site, Run: "live-" + time.Unix(sec, 0).UTC().Format("20060102T150405Z"),
						Observations: []contracts.Observation{m.observe(p, at, newPage(p.site.maxOffers))},
					},
				}
				if !yield(e) {
					return
				}
			}
		}
	}
}

// ordersEvery is how often, in seconds, Live returns the state of the orders.
const ordersEvery = 15 * 60

// liveEvery is how often Live returns what was captured meanwhile. A batch
// costs a projector and ClickHouse about a tenth of a processor second, however
// few rows it has: with one batch per second, an idle demo used an eighth of a
// processor.
const liveEvery = 3 * time.Second

// Live returns the events as time passes, until ctx ends: first what
// Observations returns for the time up to now, then, every few seconds, the
// crawl runs and LiveRate more captures per second, and every quarter of an
// hour the orders. A caller that is slower than real time gets everything,
// later. The captures that Live adds to Observations are not made up for the
// time before it started.
func (m *Market) Live(ctx context.Context, from time.Time) iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		next := from.UTC().Truncate(time.Millisecond)
		if now := time.Now().UTC().Truncate(time.Second); next.Before(now) {
			for e := range m.Observations(next, now) {
				if ctx.Err() != nil || !yield(e) {
					return
				}
			}
			next = now
		}
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			end := next.Truncate(liveEvery).Add(liveEvery)
			timer.Reset(time.Until(end))
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if end.Unix()%ordersEvery == 0 {
				for e := range m.Orders(end) {
					if !yield(e) {
						return
					}
				}
			}
			captured := slices.AppendSeq(slices.Collect(m.Observations(next, end)), m.LiveCaptures(next, end))
			slices.SortStableFunc(captured, func(a, b *event.Event) int {
				return cmp.Or(a.ProducedAt.Compare(b.ProducedAt), strings.Compare(a.ID, b.ID))
			})
			for _, e := range captured {
				if ctx.Err() != nil || !yield(e) {
					return
				}
			}
			next = end
		}
	}
}
