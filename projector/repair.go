package projector

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts/event"
)

// rowKey knows a row within one incarnation; mandate is 0 in observations.
type rowKey struct {
	mandate, seq   uint64
	capture, offer uint16
}

// repair writes those rows of the events that the tables have not. It looks
// at each row's identity, so it does not matter how the range was cut into
// batches before, nor which mandates saw a pair then. Rows that none of the
// events gives are of messages that the stream had here and lost:
// event.ErrForked. whole is scratch, and empty at the end.
func (p *Projector) repair(ctx context.Context, b *event.Batch, todo []applied, whole *block) error {
	there, err := p.rowsThere(ctx, b, todo)
	if err != nil {
		return err
	}
	missing := newBlock() // rows observations lacks
	unseen := newBlock()  // rows observations_by_mandate lacks, with the mandates that lack them
	var repaired uint64
	flush := func() error {
		defer missing.reset()
		defer unseen.reset()
		defer whole.reset()
		repaired += uint64(missing.rows() + unseen.fanned())
		// The latest are safe to write again: their version decides.
		return p.insertBlocks(ctx, missing, unseen, whole)
	}
	var lacking []uint64
	for i := range todo {
		a := &todo[i]
		for j := range a.data.Observations {
			o := &a.data.Observations[j]
			p.who = p.index.mandates(p.who[:0], uint64(o.ItemID), a.site)
			if n := o.Rows(); whole.rows() > 0 && max(whole.rows()+n, unseen.fanned()+n*len(p.who)) > p.cfg.MaxBlockRows {
				if err := flush(); err != nil {
					return err
				}
			}
			whole.add(a.at, string(a.data.Site), j, o, nil)
			for k := range o.Rows() {
				key := rowKey{0, a.at.seq, uint16(j), uint16(k)}
				if _, ok := there[key]; !ok {
					missing.addRow(a.at, string(a.data.Site), j, k, o, nil)
				}
				lacking = lacking[:0]
				for _, m := range p.who {
					key.mandate = m
					if _, ok := there[key]; !ok {
						lacking = append(lacking, m)
					}
				}
				if len(lacking) > 0 {
					unseen.addRow(a.at, string(a.data.Site), j, k, o, lacking)
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	p.count(func(s *Stats) { s.Repairs++; s.RepairedRows += repaired })
	p.log.Info("batch repaired", "first", b.First, "last", b.Last, "rows_missing", repaired)
	return nil
}

// rowsThere reads which rows the tables hold beyond the checkpoint, up to the
// end of the batch. Rows that no event gives are event.ErrForked.
func (p *Projector) rowsThere(ctx context.Context, b *event.Batch, todo []applied) (map[rowKey]struct{}, error) {
	var (
		mandate, seq, item proto.ColUInt64
		capture, offer     proto.ColUInt16
		isRow              proto.ColUInt8
		site               = new(proto.ColStr).LowCardinality()
		captured           proto.ColInt64
		there              = map[rowKey]struct{}{}
		foreign            []rowKey
		first              uint64
	)
	if mark := p.marks[b.Stream]; mark.epoch == b.Epoch {
		first = mark.seq + 1
	}
	err := p.read(ctx, "rows_in_range", args{"epoch": b.Epoch, "first": first, "last": b.Last},
		proto.Results{
			{Name: "mandate", Data: &mandate},
			{Name: "seq", Data: &seq},
			{Name: "capture", Data: &capture},
			{Name: "offer", Data: &offer},
			{Name: "is_row", Data: &isRow},
			{Name: "item", Data: &item},
			{Name: "site", Data: site},
			{Name: "captured_ms", Data: &captured},
		}, func() error {
			for i := range seq {
				k := rowKey{mandate[i], seq[i], capture[i], offer[i]}
				if !gives(todo, k, item[i], site.Row(i), captured[i]) {
					foreign = append(foreign, k)
				}
				if isRow[i] == 1 {
					there[k] = struct{}{}
				}
			}
			return nil
		})
	if err == nil && len(foreign) > 0 {
		err = fmt.Errorf("%w: %d rows beyond the checkpoint, one of them at %d of epoch %d", event.ErrForked, len(foreign), foreign[0].seq, b.Epoch)
	}
	return there, err
}

// gives tells whether one of the events, in order, gives a row of that pair
// and capture time.
func gives(todo []applied, k rowKey, item uint64, site string, captured int64) bool {
	n, ok := slices.BinarySearchFunc(todo, k.seq, func(a applied, seq uint64) int { return cmp.Compare(a.at.seq, seq) })
	if !ok || int(k.capture) >= len(todo[n].data.Observations) {
		return false
	}
	o := &todo[n].data.Observations[k.capture]
	return int(k.offer) < o.Rows() && uint64(o.ItemID) == item && string(todo[n].data.Site) == site && o.CapturedAt.UnixMilli() == captured
}
