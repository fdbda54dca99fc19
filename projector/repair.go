package projector

import (
	"context"

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
// batches before, nor which mandates saw a pair then. whole is scratch, and
// empty at the end.
func (p *Projector) repair(ctx context.Context, b *event.Batch, todo []applied, whole *block) error {
	there, err := p.rowsThere(ctx, b.Epoch, todo[0].at.seq, todo[len(todo)-1].at.seq)
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

// rowsThere reads which rows of a range both tables hold.
func (p *Projector) rowsThere(ctx context.Context, epoch uint32, first, last uint64) (map[rowKey]struct{}, error) {
	var (
		there          = map[rowKey]struct{}{}
		mandate, seq   proto.ColUInt64
		capture, offer proto.ColUInt16
		within         = args{"epoch": epoch, "first": first, "last": last}
		columns        = proto.Results{{Name: "seq", Data: &seq}, {Name: "capture", Data: &capture}, {Name: "offer", Data: &offer}}
	)
	if err := p.read(ctx, "rows_in_range", within, columns, func() error {
		for i := range seq {
			there[rowKey{0, seq[i], capture[i], offer[i]}] = struct{}{}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return there, p.read(ctx, "mandate_rows_in_range", within,
		append(proto.Results{{Name: "mandate", Data: &mandate}}, columns...), func() error {
			for i := range seq {
				there[rowKey{mandate[i], seq[i], capture[i], offer[i]}] = struct{}{}
			}
			return nil
		})
}
