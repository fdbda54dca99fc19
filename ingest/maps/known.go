package maps

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Published returns what earlier imports published for a site, or an error in
// place of what could not be read. What was stored before since may be omitted;
// zero: nothing may be.
type Published func(site contracts.SiteKey, since time.Time) iter.Seq2[*contracts.Observations, error]

// known is what earlier imports published for one site: a row of an observation
// is identified by its item, its capture time, its outcome and the content of
// its offer, not by the file or the batch that it came in. It needs 8 bytes per
// observation and 16 per row.
type known struct {
	since time.Time // what was published before is not known; zero: all is known

	published           // sorted
	fresh     published // by this import

	newest, arrived prices // nil: changes are not requested
}

// published is a number of observations.
type published struct {
	captures []uint64 // see captureOf
	rows     []knownRow
}

func (p *published) add(o *contracts.Observation) {
	p.captures, p.rows = append(p.captures, captureOf(o)), append(p.rows, rowsOf(o)...)
}

func (p *published) sort() {
	slices.Sort(p.captures)
	slices.SortFunc(p.rows, knownRow.compare)
}

// knownRow is a row of an observation, as hashes; rows are sorted by the first
// hash and then the second.
type knownRow struct {
	whose uint64 // the item, the time and the merchant
	says  uint64 // all of the row's content
}

func (r knownRow) compare(o knownRow) int {
	return cmp.Or(cmp.Compare(r.whose, o.whose), cmp.Compare(r.says, o.says))
}

// Memory is what earlier imports published, by site, as far as it was read.
type Memory struct{ sites map[contracts.SiteKey]*known }

// NewMemory returns a memory for the imports of one run.
func NewMemory() *Memory { return &Memory{map[contracts.SiteKey]*known{}} }

// verdict is how an observation's row compares with what is known.
type verdict uint8

const (
	isNew   verdict = iota
	isKnown         // the same was published
	isOther         // another row of the same item, time and merchant was published, or another outcome
)

// learn records what was published.
func (k *known) learn(batches iter.Seq2[*contracts.Observations, error]) error {
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for i := range batch.Observations {
			o := &batch.Observations[i]
			k.published.add(o)
			if k.newest != nil {
				k.newest.take(o)
			}
		}
	}
	k.sort()
	return nil
}

// add records what this import publishes; it counts only after settle.
func (k *known) add(o *contracts.Observation) {
	if k != nil {
		k.fresh.add(o)
		if k.arrived != nil {
			k.arrived.take(o)
		}
	}
}

// settle makes what this import published known to the next one.
func (k *known) settle() {
	if k.fresh.captures != nil {
		k.captures, k.rows = append(k.captures, k.fresh.captures...), append(k.rows, k.fresh.rows...)
		k.sort()
	}
	k.fresh = published{}
}

// judge returns a verdict for each row of an observation.
func (k *known) judge(o *contracts.Observation) []verdict {
	all := make([]verdict, o.Rows())
	if k == nil {
		return all
	}
	capture := captureOf(o)
	at, _ := slices.BinarySearch(k.captures, capture&^outcomeBits)
	if at == len(k.captures) || (k.captures[at]^capture)&^outcomeBits != 0 {
		return all
	}
	_, sameOutcome := slices.BinarySearch(k.captures, capture)
	rows := rowsOf(o)
	for i, row := range rows {
		at, same := slices.BinarySearchFunc(k.rows, row, knownRow.compare)
		for _, before := range rows[:i] { // equal offers, which the mapping distinguishes: each is known once
			if before == row {
				at++
				same = at < len(k.rows) && k.rows[at] == row
			}
		}
		sameMerchant := at < len(k.rows) && k.rows[at].whose == row.whose || at > 0 && k.rows[at-1].whose == row.whose
		switch {
		case same:
			all[i] = isKnown
		case sameMerchant || !sameOutcome:
			all[i] = isOther
		}
	}
	return all
}

// outcomeBits are the bits of captureOf that hold the outcome.
const outcomeBits = 7

// captureOf returns a hash of the item and the time of an observation, combined
// with its outcome.
func captureOf(o *contracts.Observation) uint64 {
	var at [16]byte
	binary.BigEndian.PutUint64(at[:8], uint64(o.ItemID))
	binary.BigEndian.PutUint64(at[8:], uint64(o.CapturedAt.UnixMilli()))
	return xxhash.Sum64(at[:])&^outcomeBits | uint64(o.Outcome)
}

// rowsOf returns the rows of an observation.
func rowsOf(o *contracts.Observation) []knownRow {
	var scratch [512]byte
	rows := make([]knownRow, o.Rows())
	for i := range rows {
		row, merchant := *o, ""
		if len(o.Offers) > 0 {
			row.Offers = o.Offers[i : i+1]
			merchant = o.Offers[i].Merchant
		}
		says := xxhash.Sum64(appendObservation(scratch[:0], &row))
		whose := binary.BigEndian.AppendUint64(scratch[:0], uint64(o.ItemID))
		whose = append(binary.BigEndian.AppendUint64(whose, uint64(o.CapturedAt.UnixMilli())), merchant...)
		rows[i] = knownRow{xxhash.Sum64(whose), says}
	}
	return rows
}

// mostClocks is more than any difference between the clocks of importers and of
// NATS.
const mostClocks = 24 * time.Hour

// publishedSince returns the earliest time at which a row of the file can have
// been published: no capture is later than MaxClockLead after its batch. Zero
// if changes are requested, because the previous price can be old.
func (im *importer) publishedSince(s *site) time.Time {
	if im.Changes {
		return time.Time{}
	}
	return time.UnixMilli(s.earliest).Add(-event.MaxClockLead - mostClocks).UTC()
}

// knownAt reads what earlier imports published for the site, as far back as
// this file needs it: one time, or again for a file that goes back further.
func (im *importer) knownAt(s *site) (*known, error) {
	if im.Published == nil {
		return nil, nil
	}
	k, since := im.known[s.Site.Site], im.publishedSince(s)
	if k == nil || since.Before(k.since) {
		k = &known{since: since}
		if im.Changes {
			k.newest, k.arrived = prices{}, prices{}
		}
		if err := k.learn(im.Published(s.Site.Site, since)); err != nil {
			return nil, fmt.Errorf("read what was imported of %s before: %w", s.Site.Site, err)
		}
		im.known[s.Site.Site] = k
	}
	return k, nil
}
