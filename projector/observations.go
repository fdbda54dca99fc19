package projector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// ApplyObservations writes the batch to every table and then the checkpoint.
// After an error it is called again, with the same batch boundaries or others.
func (p *Projector) ApplyObservations(ctx context.Context, b *event.Batch) error {
	return p.BeginObservations(ctx, b)()
}

// BeginObservations begins to write the batch and returns when the next may be
// begun. finish waits until the batch is in every table and the checkpoint is
// written. After an error every batch begun since has failed too: finish them
// all, and begin again with the first of them, with the same batch boundaries
// or others. ctx must live until finish returns; more than two batches under
// way are of no use.
func (p *Projector) BeginObservations(ctx context.Context, b *event.Batch) (finish func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := newPending(b)
	if err := p.begin(ctx, f, b); err != nil {
		f.err = err
		close(f.done)
		p.failing = f
	} else {
		p.sweep(ctx)
	}
	return func() error {
		<-f.done
		p.mu.Lock()
		defer p.mu.Unlock()
		f.reported = true
		p.collect()
		if p.failing == f {
			p.failing = nil
		}
		return f.err
	}
}

// begin dispatches the batch, or writes it to the tables itself when the
// existing rows must be checked first.
func (p *Projector) begin(ctx context.Context, f *pending, b *event.Batch) error {
	p.collect()
	uncertain := p.uncertain.after(p.marks[b.Stream])
	if p.phase != steady || len(p.outdated) > 0 || uncertain {
		p.settle()
	}
	if p.failing != nil {
		return fmt.Errorf("%w: %w", errBehind, p.failing.err)
	}
	if len(p.inFlight) == 0 {
		if err := p.ready(ctx); err != nil {
			return err
		}
		if err := p.applyScopes(ctx); err != nil {
			return p.failed(err)
		}
		uncertain = p.uncertain.after(p.marks[b.Stream])
	}
	if err := p.follows(b); err != nil {
		return err
	}
	todo, ids, err := p.fresh(ctx, b)
	if err == nil {
		f.ids, f.fresh, f.ahead, f.block = ids, uint64(len(todo)), f.end.after(p.reached(f.stream)), p.takeBlock()
		if n := len(p.inFlight); n > 0 {
			f.before = p.inFlight[n-1]
		}
		if uncertain {
			err = p.repair(ctx, b, todo, f.block)
		} else {
			err = p.fill(ctx, f, todo)
		}
	}
	if err != nil {
		f.err = err
		p.noteFailure(f)
		return err
	}
	f.proof, f.proven, f.floor = p.reachedProof(), p.proven, p.floor
	var late uint64
	for i := range todo {
		f.proof.add(&todo[i])
		late += f.noteExpired(&todo[i])
		if !todo[i].recorded {
			f.noteIngested(&todo[i])
		}
	}
	p.count(func(s *Stats) { s.ExpiredRows += late })
	p.inFlight = append(p.inFlight, f)
	p.dispatch(ctx, f)
	return nil
}

// reached returns how far the stream is applied once everything under way is
// done.
func (p *Projector) reached(stream string) position {
	if n := len(p.inFlight); n > 0 && p.inFlight[n-1].end.after(p.marks[stream]) {
		return p.inFlight[n-1].end
	}
	return p.marks[stream]
}

// fill builds the rows of all events without checking which exist already.
// Whenever the block is full, it is written and begun again.
func (p *Projector) fill(ctx context.Context, f *pending, todo []freshEvent) error {
	b := f.block
	b.reserve(todo)
	f.arrived = newArrivals()
	for i := range todo {
		a := &todo[i]
		for j, o := range a.captures() {
			p.mandates = p.index.mandates(p.mandates[:0], uint64(o.ItemID), a.site)
			if n := o.Rows(); b.rows() > 0 && max(b.rows()+n, b.fanned()+n*len(p.mandates)) > p.cfg.MaxBlockRows {
				if err := p.flush(ctx, f); err != nil {
					return err
				}
			}
			b.add(a.at, string(a.data.Site), j, o, p.mandates)
			f.arrived.add(string(a.data.Site), o, p.mandates)
		}
	}
	return nil
}

// flush writes the block before the batch is dispatched.
func (p *Projector) flush(ctx context.Context, f *pending) error {
	if f.before != nil {
		for _, ended := range f.before.rows {
			<-ended
		}
		if err := f.before.failure(); err != nil {
			return fmt.Errorf("%w: %w", errBehind, err)
		}
	}
	b := f.block
	defer b.reset()
	return p.insertBlocks(ctx, b, b, b)
}

// insertBlocks writes a block to each table, concurrently. All inserts have
// ended when it returns.
func (p *Projector) insertBlocks(ctx context.Context, observations, byMandate, latest *block) error {
	var errs [len(rowTables)]error
	var group sync.WaitGroup
	for i, in := range inputs(observations, byMandate, latest) {
		group.Go(func() { errs[i] = p.insertBlock(ctx, rowTables[i], in.rows, in.input()) })
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

// freshEvent is one event that must be applied.
type freshEvent struct {
	id       uuid.UUID
	at       position
	site     uint32
	recorded bool // it is already in ingested_events
	data     *contracts.Observations
	floor    floor
}

// captures returns the captures that are kept, each with its index in the
// event.
func (a *freshEvent) captures() iter.Seq2[int, *contracts.Observation] {
	return func(yield func(int, *contracts.Observation) bool) {
		for i := range a.data.Observations {
			if o := &a.data.Observations[i]; a.floor.keeps(o) && !yield(i, o) {
				return
			}
		}
	}
}

// fresh returns the events of the batch that must be applied: those beyond the
// checkpoint whose id is not known from another position, either written or in a
// batch under way. first holds the ids of the batch.
func (p *Projector) fresh(ctx context.Context, b *event.Batch) (todo []freshEvent, first map[uuid.UUID]struct{}, err error) {
	mark := p.reached(b.Stream)
	todo = make([]freshEvent, 0, len(b.Messages))
	first = make(map[uuid.UUID]struct{}, len(b.Messages))
	var ids proto.ColUUID
	var replayed, doubled uint64
	for i := range b.Messages {
		m := &b.Messages[i]
		at := position{b.Epoch, m.Seq}
		if !at.after(mark) {
			replayed++
			continue
		}
		id, data, err := payload(m)
		if err != nil {
			return nil, nil, err
		}
		if _, ok := first[id]; ok || p.underWay(id) {
			doubled++
			continue
		}
		first[id] = struct{}{}
		ids.Append(id)
		todo = append(todo, freshEvent{id: id, at: at, site: p.sites.of(string(data.Site)), data: data, floor: p.floor})
	}
	if len(todo) > 0 {
		known := map[uuid.UUID]position{}
		var id uuid.UUID
		var at position
		err := p.read(ctx, "known_events", nil, clickhouse.Row{"event_id": &id, "epoch": &at.epoch, "seq": &at.seq},
			func() {
				if _, ok := known[id]; !ok {
					known[id] = at
				}
			},
			ch.ExternalTable{Name: "ids", Data: proto.Input{{Name: "event_id", Data: ids}}})
		if err != nil {
			return nil, nil, err
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
	return todo, first, nil
}

func (p *Projector) insertBlock(ctx context.Context, table string, rows int, in proto.Input) error {
	if rows == 0 {
		return nil
	}
	began := time.Now()
	err := p.insert(ctx, table, nil, in, nil)
	if p.cfg.Inserted != nil {
		p.cfg.Inserted(Insert{table, rows, time.Since(began), err})
	}
	if err != nil {
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
