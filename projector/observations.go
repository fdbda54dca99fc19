package projector

import (
	"context"
	"errors"
	"sync"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// ApplyObservations writes the batch to every table and then the checkpoint.
// After an error it is called again, with these borders or others.
func (p *Projector) ApplyObservations(ctx context.Context, b *event.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.ready(ctx); err != nil {
		return err
	}
	if err := p.applyScopes(ctx); err != nil {
		return p.failed(err)
	}
	if err := p.applyObservations(ctx, b); err != nil {
		if end := (place{b.Epoch, b.Last}); end.after(p.doubt) {
			p.doubt = end
		}
		return p.failed(err)
	}
	p.sweep(ctx)
	p.gauge()
	return nil
}

// applied is one event that is to be applied.
type applied struct {
	id       uuid.UUID
	at       place
	site     uint32
	recorded bool // ingested_events has it already
	data     *contracts.Observations
}

func (p *Projector) applyObservations(ctx context.Context, b *event.Batch) error {
	todo, err := p.fresh(ctx, b)
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		if p.doubt.after(place{b.Epoch, b.First - 1}) {
			err = p.repair(ctx, b, todo)
		} else {
			err = p.insert(ctx, todo)
		}
		if err != nil {
			return err
		}
		p.events.reset()
		for i := range todo {
			if !todo[i].recorded {
				p.events.add(todo[i].id, todo[i].at, todo[i].data)
			}
		}
		if len(p.events.id) > 0 {
			if err := p.write(ctx, "ingested_events", question("insert_ingested_events"), nil, p.events.input()); err != nil {
				return err
			}
		}
	}
	if err := p.advance(ctx, b); err != nil {
		return err
	}
	p.count(func(s *Stats) { s.Batches++; s.Events += uint64(len(todo)) })
	return nil
}

// fresh gives the events of the batch that are to be applied: beyond the
// checkpoint, and under an id that is not known from another place.
func (p *Projector) fresh(ctx context.Context, b *event.Batch) ([]applied, error) {
	mark := p.marks[b.Stream]
	todo := make([]applied, 0, len(b.Messages))
	first := make(map[uuid.UUID]place, len(b.Messages))
	var ids proto.ColUUID
	var replayed, doubled uint64
	for i := range b.Messages {
		m := &b.Messages[i]
		at := place{b.Epoch, m.Seq}
		if !at.after(mark) {
			replayed++
			continue
		}
		id, data, err := payload(m)
		if err != nil {
			return nil, err
		}
		if _, ok := first[id]; ok {
			doubled++
			continue
		}
		first[id] = at
		ids.Append(id)
		todo = append(todo, applied{id: id, at: at, site: p.sites.of(string(data.Site)), data: data})
	}
	if len(todo) > 0 {
		known := map[uuid.UUID]place{}
		var (
			id    proto.ColUUID
			epoch proto.ColUInt32
			seq   proto.ColUInt64
		)
		err := p.read(ctx, "known_events", nil,
			proto.Results{{Name: "event_id", Data: &id}, {Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}},
			func() error {
				for i := range id {
					if _, ok := known[id[i]]; !ok {
						known[id[i]] = place{epoch[i], seq[i]}
					}
				}
				return nil
			},
			ch.ExternalTable{Name: "ids", Data: proto.Input{{Name: "event_id", Data: ids}}})
		if err != nil {
			return nil, err
		}
		keep := todo[:0]
		for _, a := range todo {
			if at, ok := known[a.id]; ok {
				if at != a.at {
					doubled++
					continue
				}
				a.recorded = true
			}
			keep = append(keep, a)
		}
		todo = keep
	}
	p.count(func(s *Stats) { s.ReplayedEvents += replayed; s.DuplicateEvents += doubled })
	return todo, nil
}

// insert writes the rows of all events in blocks, without looking what is
// there.
func (p *Projector) insert(ctx context.Context, todo []applied) error {
	p.block.reset()
	for i := range todo {
		a := &todo[i]
		for j := range a.data.Observations {
			o := &a.data.Observations[j]
			p.who = p.index.mandates(p.who[:0], uint64(o.ItemID), a.site)
			if n := o.Rows(); p.block.rows() > 0 && max(p.block.rows()+n, p.block.fanned()+n*len(p.who)) > p.cfg.MaxBlockRows {
				if err := p.flush(ctx); err != nil {
					return err
				}
			}
			p.block.add(a.at, string(a.data.Site), j, o, p.who)
		}
	}
	return p.flush(ctx)
}

// flush writes the block to the three tables.
func (p *Projector) flush(ctx context.Context) error {
	defer p.block.reset()
	return p.insertBlocks(ctx, p.block, p.block, p.block)
}

// insertBlocks writes a block to each table, side by side: the server spends
// one thread on each. All have ended when it returns.
func (p *Projector) insertBlocks(ctx context.Context, observations, byMandate, latest *block) error {
	var errs [3]error
	var group sync.WaitGroup
	group.Go(func() { errs[0] = p.insertBlock(ctx, "observations", observations.rows(), observations.observations()) })
	group.Go(func() {
		errs[1] = p.insertBlock(ctx, "observations_by_mandate", byMandate.fanned(), byMandate.byMandate())
	})
	group.Go(func() { errs[2] = p.insertBlock(ctx, "latest_observations", latest.rows(), latest.latest()) })
	group.Wait()
	return errors.Join(errs[:]...)
}

func (p *Projector) insertBlock(ctx context.Context, table string, rows int, in proto.Input) error {
	if rows == 0 {
		return nil
	}
	if err := p.write(ctx, table, question("insert_"+table), nil, in); err != nil {
		return err
	}
	p.count(func(s *Stats) {
		switch table {
		case "observations":
			s.Rows += uint64(rows)
		case "observations_by_mandate":
			s.FannedRows += uint64(rows)
		}
	})
	return nil
}
