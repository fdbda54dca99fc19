package projector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/cespare/xxhash/v2"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// rowKey identifies a row within one incarnation; mandate is 0 in observations.
type rowKey struct {
	mandate, seq   uint64
	capture, offer uint16
}

// eventThere is what the tables hold of an event, by mandate, in ascending
// order; 0 stands for observations. A mandate in neither list has none of its
// rows.
type eventThere struct {
	complete []uint64    // have exactly the rows they should have
	others   []rowsThere // have other rows, or not all
}

type rowsThere struct{ mandate, rows uint64 }

func (e *eventThere) differs(mandate uint64) bool {
	_, ok := slices.BinarySearchFunc(e.others, mandate, func(r rowsThere, m uint64) int { return cmp.Compare(r.mandate, m) })
	return ok
}

// eventsThere compares numbers and digests of the rows beyond the checkpoint,
// up to the end of the batch, with what the events give. It returns
// event.ErrForked for rows at the place of no event, and for captures of
// latest_observations that no event gives.
func (p *Projector) eventsThere(ctx context.Context, b *event.Batch, todo []freshEvent) ([]eventThere, error) {
	var first uint64
	if mark := p.marks[b.Stream]; mark.epoch == b.Epoch {
		first = mark.seq + 1
	}
	var (
		m, seq  uint64
		is      digest
		there   = make([]eventThere, len(todo))
		due     map[uint64]digest
		at      = -1
		foreign foreignRows
	)
	span := p.floor.of(args{"epoch": b.Epoch, "first": first, "last": b.Last})
	err := p.read(ctx, "row_digests", span, clickhouse.Row{"mandate": &m, "seq": &seq, "n": &is.n, "sum": &is.sum}, func() {
		k, ok := find(todo, seq)
		if !ok {
			foreign.add(seq, is.n)
			return
		}
		if k != at {
			at, due = k, p.due(&todo[k])
		}
		if due[m] == is {
			there[k].complete = append(there[k].complete, m)
		} else {
			there[k].others = append(there[k].others, rowsThere{m, is.n})
		}
	})
	if err != nil {
		return nil, err
	}
	var held heldRow
	if err := p.read(ctx, "latest_in_range", span, held.row(), func() { foreign.look(&held, todo) }); err != nil {
		return nil, err
	}
	return there, foreign.err(b.Epoch)
}

// due returns the digests of the rows that the event gives to each mandate and,
// as mandate 0, to observations: computed as in row_digests.sql.
func (p *Projector) due(a *freshEvent) map[uint64]digest {
	out := map[uint64]digest{}
	var text []byte
	for j, o := range a.captures() {
		var d digest
		for k := range o.Rows() {
			text = strconv.AppendInt(text[:0], int64(j), 10)
			text = strconv.AppendInt(append(text, ' '), int64(k), 10)
			text = strconv.AppendUint(append(text, ' '), uint64(o.ItemID), 10)
			text = strconv.AppendInt(append(text, ' '), o.CapturedAt.UnixMilli(), 10)
			text = append(append(text, ' '), a.data.Site...)
			d.n, d.sum = d.n+1, d.sum+xxhash.Sum64(text)
		}
		p.mandates = p.index.mandates(append(p.mandates[:0], 0), uint64(o.ItemID), a.site)
		for _, m := range p.mandates {
			out[m] = digest{out[m].n + d.n, out[m].sum + d.sum}
		}
	}
	return out
}

// keySlice is a range of events with the mandates whose rows are compared one
// by one; there are not too many such rows.
type keySlice struct {
	from, to int      // places of events
	mandates []uint64 // ascending
	first    bool     // no slice before has these events

	seq, mandate proto.ColUInt64 // of the rows to compare
}

// slicesOf cuts the events so that no slice has more than limit rows to
// compare. An event that has more is in several slices, and alone in each.
func slicesOf(todo []freshEvent, there []eventThere, limit uint64) (all []keySlice) {
	var rows uint64
	begin := func(i int, first bool) {
		all = append(all, keySlice{from: i, to: i + 1, first: first})
		rows = 0
	}
	for i := range there {
		var n uint64
		for _, o := range there[i].others {
			n += o.rows
		}
		if len(all) == 0 || rows+n > limit || !all[len(all)-1].first {
			begin(i, true)
		}
		all[len(all)-1].to = i + 1
		for _, o := range there[i].others {
			if rows > 0 && rows+o.rows > limit {
				begin(i, false)
			}
			s := &all[len(all)-1]
			s.mandates = append(s.mandates, o.mandate)
			s.seq, s.mandate = append(s.seq, todo[i].at.seq), append(s.mandate, o.mandate)
			rows += o.rows
		}
	}
	for i := range all {
		slices.Sort(all[i].mandates)
		all[i].mandates = slices.Compact(all[i].mandates)
	}
	return all
}

// rowsThere reads which rows of the slice the tables hold. For rows that no
// event gives it returns event.ErrForked.
func (p *Projector) rowsThere(ctx context.Context, epoch uint32, todo []freshEvent, s keySlice) (map[rowKey]struct{}, error) {
	if len(s.mandates) == 0 {
		return nil, nil
	}
	var (
		held    heldRow
		there   = map[rowKey]struct{}{}
		foreign foreignRows
	)
	err := p.read(ctx, "rows_in_range", p.floor.of(args{"epoch": epoch, "first": todo[s.from].at.seq, "last": todo[s.to-1].at.seq}),
		held.row(), func() {
			foreign.look(&held, todo)
			there[held.rowKey] = struct{}{}
		}, ch.ExternalTable{Name: "places", Data: proto.Input{{Name: "seq", Data: s.seq}, {Name: "mandate", Data: s.mandate}}})
	if err != nil {
		return nil, err
	}
	return there, foreign.err(epoch)
}

// heldRow is a row of the tables, with the columns that an event determines.
type heldRow struct {
	rowKey
	item     uint64
	site     string
	captured int64
}

func (h *heldRow) row() clickhouse.Row {
	return clickhouse.Row{
		"mandate": &h.mandate, "seq": &h.seq, "capture": &h.capture, "offer": &h.offer, "item": &h.item, "site": &h.site, "captured_ms": &h.captured,
	}
}

// foreignRows counts rows that no event gives.
type foreignRows struct{ n, seq uint64 }

func (f *foreignRows) add(seq, n uint64) {
	if f.n == 0 {
		f.seq = seq
	}
	f.n += n
}

func (f *foreignRows) look(h *heldRow, todo []freshEvent) {
	if !hasRow(todo, h) {
		f.add(h.seq, 1)
	}
}

func (f *foreignRows) err(epoch uint32) error {
	if f.n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d rows beyond the checkpoint, one of them at %d of epoch %d", event.ErrForked, f.n, f.seq, epoch)
}

// find returns the index of the event with a sequence; the events are in order.
func find(todo []freshEvent, seq uint64) (int, bool) {
	return slices.BinarySearchFunc(todo, seq, func(a freshEvent, seq uint64) int { return cmp.Compare(a.at.seq, seq) })
}

// hasRow reports whether one of the events gives a row of that pair and capture
// time.
func hasRow(todo []freshEvent, h *heldRow) bool {
	n, ok := find(todo, h.seq)
	if !ok || int(h.capture) >= len(todo[n].data.Observations) {
		return false
	}
	o := &todo[n].data.Observations[h.capture]
	return int(h.offer) < o.Rows() && uint64(o.ItemID) == h.item && string(todo[n].data.Site) == h.site && o.CapturedAt.UnixMilli() == h.captured
}
