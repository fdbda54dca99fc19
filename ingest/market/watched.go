package market

import (
	"slices"
	"time"

	"preismon/contracts"
)

// makeAway adds what active orders watch and no site carries: the site is
// captured once a day, soon after midnight UTC, and shows that it does not have
// the product.
func (m *Market) makeAway() {
	m.away = map[contracts.Pair]*pair{}
	bySite := make([][]*pair, len(m.sites))
	for _, o := range m.orders {
		if !o.Active || o.Schedule == nil || o.novelties {
			continue
		}
		for _, key := range o.Sites {
			at := slices.IndexFunc(m.sites, func(s site) bool { return s.Site.Site == key })
			for _, id := range o.Items {
				of := contracts.Pair{Item: id, Site: key}
				if m.byPair[of] != nil || m.away[of] != nil {
					continue
				}
				p := m.newPair(m.byID[id], &m.sites[at])
				p.away = true
				m.away[of] = p
				bySite[at] = append(bySite[at], p)
			}
		}
	}
	for at, pairs := range bySite {
		if len(pairs) > 0 {
			m.addRhythm(rhythm{site: at, name: "away", interval: msDay, offset: msHour / 60, jitter: 40_000, chunk: 40, pairs: pairs})
		}
	}
}

// uncounted reports whether an order's source does not count these runs.
func (r *rhythm) uncounted() bool { return r.window > 0 || len(r.pairs) > 0 && r.pairs[0].away }

func (m *Market) addRhythm(r rhythm) {
	m.finish(&r)
	m.rhythms = append(m.rhythms, r)
}

// An order of novelties watches the newest items of a list that grows by one
// every quarter of an hour: at a shop that is captured every quarter of an
// hour, where a new item is due at once and is captured some minutes later, and
// at one where an item may take a day, so that it is not due yet.
const (
	noveltyEvery = msHour / 4
	noveltyAfter = 8 * msHour / 60
	noveltyMost  = 8
)

var noveltySites = [...]int{elektro, drogerie} // which otherwise carry none of these items

// makeNovelties adds the captures of the order of novelties.
func (m *Market) makeNovelties() {
	for _, o := range m.orders {
		if !o.novelties {
			continue
		}
		for k, at := range noveltySites {
			var pairs []*pair
			for _, id := range o.Items {
				p := m.newPair(m.byID[id], &m.sites[at])
				m.byPair[p.key()] = p
				pairs = append(pairs, p)
			}
			take := noveltyWindow(o)
			if k == 1 {
				take = 1 // one is enough
			}
			m.addRhythm(rhythm{
				site: at, name: "novelties", interval: noveltyEvery, offset: noveltyAfter, jitter: 20_000, chunk: take, window: take,
				pairs: slices.Concat(pairs[len(pairs)-take+1:], pairs),
			})
		}
	}
}

func noveltyWindow(o *order) int { return min(noveltyMost, len(o.Items)) }

// novelties returns the record of such an order at a time. Its runs are
// scheduled at every quarter of an hour.
func (m *Market) novelties(o *order, at time.Time) contracts.Order {
	rec := o.Order
	run, n, window := at.UnixMilli()/noveltyEvery, int64(len(o.Items)), int64(noveltyWindow(o))
	rec.Items = nil
	for i := run - window + 1; i <= run; i++ {
		rec.Items = append(rec.Items, o.Items[i%n])
	}
	last, next := time.UnixMilli(run*noveltyEvery).UTC(), time.UnixMilli((run+1)*noveltyEvery).UTC()
	schedule := *o.Schedule
	schedule.LastRunAt, schedule.NextRunAt = &last, &next
	rec.Schedule = &schedule
	due := int(at.Sub(at.Truncate(24*time.Hour)).Milliseconds()/noveltyEvery) + 1
	done := due
	if at.UnixMilli()%noveltyEvery < noveltyAfter {
		done--
	}
	rec.Counters = []contracts.SiteCounters{
		{Site: o.Sites[0], ConfiguredObservations: int(msDay / noveltyEvery), ExpectedProcessedByNow: due, ProcessedObservations: done},
		{Site: o.Sites[1], ConfiguredObservations: 1},
	}
	return rec
}
