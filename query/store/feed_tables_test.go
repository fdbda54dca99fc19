package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// mandatePairs are the pairs of a mandate, each with the orders that give it.
type mandatePairs = map[contracts.Pair][]contracts.OrderID

// feedTables are the tables that feeds are followed over: those of one server,
// or of several shards.
type feedTables interface {
	// advance makes what was inserted visible, except what is incomplete, and
	// returns how far readers see.
	advance(r *rand.Rand, incomplete bool) query.Watermark
	// regrant changes the scope of mandate one. It calls between while the change
	// is in force somewhere and not applied.
	regrant(change func(mandatePairs), between func())
	// rebuilt writes a row at a place that readers may have passed.
	rebuilt(late obsRow)
	// restored returns to a moment shortly before.
	restored() query.Watermark
	// interrupt calls f while a server is away, if answers need several.
	interrupt(f func())
}

// oneServer is the tables of a world.
type oneServer struct {
	*world
	version uint64
	at      query.Watermark
}

func (s *oneServer) advance(_ *rand.Rand, incomplete bool) query.Watermark {
	now := query.Watermark{Epoch: s.epoch, Seq: s.mark}
	if incomplete && now.Seq > s.at.Seq+2 {
		now.Seq -= 2
	}
	s.at = now
	s.setMark(now.Seq)
	return now
}

func (s *oneServer) regrant(change func(mandatePairs), between func()) {
	s.version++
	s.world.regrant(s.version, change, between)
}

func (s *oneServer) rebuilt(late obsRow) {
	s.write([]obsRow{late})
	s.notify("GENERATION")
}

func (s *oneServer) restored() query.Watermark {
	s.exec("TRUNCATE TABLE checkpoints")
	s.at.Seq -= min(3, s.at.Seq-1)
	s.setMark(s.at.Seq)
	for _, stream := range []string{"CATALOG", "IN_FORCE", "GENERATION"} {
		s.notify(stream)
	}
	return s.at
}

func (s *oneServer) interrupt(func()) {}

// partition is where a scope is written: a server, and whose tables it has.
type partition struct {
	number int
	exec   func(sql string, args ...any)
}

// notify writes the row that notifies readers of a change.
func (p partition) notify(stream string) {
	p.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES (?, ?, 0, ?)", stream, p.number, uint64(time.Now().UnixNano()))
}

func (w *world) notify(stream string) { partition{0, w.exec}.notify(stream) }

// regrant changes the scope of mandate one, and calls between before the scope
// is applied.
func (w *world) regrant(version uint64, change func(mandatePairs), between func()) {
	w.t.Helper()
	pairs := w.scopes[mandateOne]
	was := maps.Clone(pairs)
	change(pairs)
	partition{0, w.exec}.regrant(version, was, pairs, between)
}

// regrant changes the scope of mandate one as the projector of a partition does:
// in force, then filled, then applied. It calls between before the scope is
// applied.
func (p partition) regrant(version uint64, was, pairs mandatePairs, between func()) {
	p.exec("INSERT INTO scope_pairs VALUES " + strings.Join(scopeRows(mandateOne, version, pairs), ", "))
	p.exec("INSERT INTO scopes VALUES (1, ?, ?, 6)", version, uint64(len(pairs)))
	p.notify("IN_FORCE")
	between()
	but := func(of, other mandatePairs) string { // the pairs that only one has
		list := []string{"(0, '')"}
		for p := range of {
			if _, has := other[p]; !has {
				list = append(list, fmt.Sprintf("(%d, '%s')", p.Item, p.Site))
			}
		}
		return strings.Join(list, ", ")
	}
	p.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		SELECT 1, -toUnixTimestamp64Milli(captured_at), item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
		FROM observations WHERE (item, site) IN (` + but(pairs, was) + ")")
	p.exec("DELETE FROM observations_by_mandate WHERE mandate = 1 AND (item, site) IN (" + but(was, pairs) + ")")
	p.exec("INSERT INTO scopes_applied VALUES (1, ?, ?)", p.number, version)
	p.notify("IN_FORCE")
}
