package projector

import (
	"context"
	"slices"

	"preismon/contracts/event"
)

// repair writes those rows of the events that the tables lack. It compares each
// row's identity where counts and digests differ, so it matters neither how the
// range was cut into batches before, nor which mandates saw a pair then. Rows
// that do not follow from any of the events come from messages that the stream
// had here and lost: event.ErrForked. whole is scratch space, empty at the end.
func (p *Projector) repair(ctx context.Context, b *event.Batch, todo []freshEvent, whole *block) error {
	there, err := p.eventsThere(ctx, b, todo)
	if err != nil {
		return err
	}
	r := &repairing{p: p, missing: newBlock(), unseen: newBlock(), whole: whole}
	for _, s := range slicesOf(todo, there, uint64(p.cfg.MaxBlockRows)) {
		keys, err := p.rowsThere(ctx, b.Epoch, todo, s)
		if err != nil {
			return err
		}
		for i := s.from; i < s.to; i++ {
			if err := r.event(ctx, &todo[i], &there[i], s, keys); err != nil {
				return err
			}
		}
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	p.count(func(s *Stats) { s.Repairs++; s.RepairedRows += r.rows })
	p.log.Info("batch repaired", "first", b.First, "last", b.Last, "rows_missing", r.rows)
	return nil
}

// repairing is a repair under way.
type repairing struct {
	p       *Projector
	missing *block // rows observations lacks
	unseen  *block // rows observations_by_mandate lacks, with the mandates that lack them
	whole   *block // rows for latest_observations, which decides itself which it keeps
	lacking []uint64
	rows    uint64 // written
}

// event adds the event's missing rows, as far as the slice covers them.
func (r *repairing) event(ctx context.Context, a *freshEvent, there *eventThere, s keySlice, keys map[rowKey]struct{}) error {
	p := r.p
	lacks := func(k rowKey) bool {
		if _, ok := slices.BinarySearch(there.complete, k.mandate); ok {
			return false
		}
		if !there.differs(k.mandate) {
			return s.first // the mandate has none of them
		}
		if _, ok := slices.BinarySearch(s.mandates, k.mandate); !ok {
			return false // another slice covers them
		}
		_, ok := keys[k]
		return !ok
	}
	for j, o := range a.captures() {
		p.mandates = p.index.mandates(p.mandates[:0], uint64(o.ItemID), a.site)
		if n := o.Rows(); max(r.whole.rows(), r.missing.rows(), r.unseen.fanned()) > 0 && max(r.whole.rows()+n, r.missing.rows()+n, r.unseen.fanned()+n*len(p.mandates)) > p.cfg.MaxBlockRows {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if s.first {
			r.whole.add(a.at, string(a.data.Site), j, o, nil)
		}
		for k := range o.Rows() {
			key := rowKey{0, a.at.seq, uint16(j), uint16(k)}
			if lacks(key) {
				r.missing.addRow(a.at, string(a.data.Site), j, k, o, nil)
			}
			r.lacking = r.lacking[:0]
			for _, m := range p.mandates {
				if key.mandate = m; lacks(key) {
					r.lacking = append(r.lacking, m)
				}
			}
			if len(r.lacking) > 0 {
				r.unseen.addRow(a.at, string(a.data.Site), j, k, o, r.lacking)
			}
		}
	}
	return nil
}

// flush writes what was collected. Rows of latest_observations are safe to
// write again: their version decides.
func (r *repairing) flush(ctx context.Context) error {
	defer r.missing.reset()
	defer r.unseen.reset()
	defer r.whole.reset()
	r.rows += uint64(r.missing.rows() + r.unseen.fanned())
	return r.p.insertBlocks(ctx, r.missing, r.unseen, r.whole)
}
