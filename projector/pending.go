package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"preismon/contracts/event"
)

// pending is a batch of observations on its way into the tables. While its rows
// are inserted, the rows of the next one are built; while its events and its
// checkpoint are written, the rows of the next one are inserted. What makes
// that safe:
//
//   - A table gets one insert at a time, in the order of the batches.
//   - The events and the checkpoint of a batch follow all of its rows, and those
//     of every batch before it. So what is beyond the checkpoint is incomplete as
//     it always was, except that it may be up to two batches.
//   - When a batch fails, those begun after it fail too. It is then uncertain
//     which of their rows were written, and each batch's rows are read back
//     before it is tried again.
//   - Scopes change, statements are ended and checkpoints are read only when no
//     batch is under way.
type pending struct {
	stream string
	end    position
	ahead  bool   // end is beyond every checkpoint before
	fresh  uint64 // events
	proof  proof  // of end
	proven bool
	floor  floor
	ids    map[uuid.UUID]struct{}
	block  *block
	// arrived is what the batch makes visible; nil: not known, because rows of it
	// were in the tables before.
	arrived *arrivals
	before  *pending // nil once this one is done

	// What is written after the block; expired is for captures that are not kept.
	events, expired recordTable

	rows     [len(rowTables)]chan struct{} // closed when the insert into the table has ended
	done     chan struct{}                 // closed when all has ended; err is valid then
	reported bool                          // the caller knows the result

	mu  sync.Mutex
	err error
}

// rowTables are written concurrently: the server spends one thread on each.
var rowTables = [...]string{"observations", "observations_by_mandate", "latest_observations"}

// rowInput is what is inserted into one of rowTables.
type rowInput struct {
	rows  int
	input func() proto.Input
}

func inputs(observations, byMandate, latest *block) [len(rowTables)]rowInput {
	return [...]rowInput{
		{observations.rows(), observations.observations}, {byMandate.fanned(), byMandate.byMandate}, {latest.rows(), latest.latest},
	}
}

func newPending(b *event.Batch) *pending {
	f := &pending{
		stream: b.Stream, end: position{b.Epoch, b.Last}, done: make(chan struct{}),
		events:  recordTable{name: "ingested_events", columns: []string{"event_id", "epoch", "seq", "captures", "rows"}},
		expired: recordTable{name: "expired_rows", columns: []string{"epoch", "seq", "quarter_ms", "rows"}},
	}
	for i := range f.rows {
		f.rows[i] = make(chan struct{})
	}
	return f
}

func (f *pending) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errors.Join(f.err, err)
}

func (f *pending) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// ended reports whether the batch is done.
func (f *pending) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// errBehind is why a batch was not applied although nothing is wrong with it.
var errBehind = errors.New("the batch before it failed")

// dispatch starts to write the block and the time of the last checkpoint, then
// the events and the checkpoint.
func (p *Projector) dispatch(ctx context.Context, f *pending) {
	b, before := f.block, f.before
	for i, in := range inputs(b, b, b) {
		go func() {
			defer close(f.rows[i])
			if before != nil {
				<-before.rows[i]
				if err := before.failure(); err != nil {
					f.fail(fmt.Errorf("%w: %w", errBehind, err))
					return
				}
			}
			if err := p.insertBlock(ctx, rowTables[i], in.rows, in.input()); err != nil {
				f.fail(err)
			}
		}()
	}
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		if before != nil && !before.ended() {
			return // its checkpoint may not be there yet: commit records when it came
		}
		if err := p.noteTime(ctx, f.stream); err != nil {
			f.fail(err)
		}
	}()
	go func() {
		defer close(f.done)
		for _, ended := range append(f.rows[:], noted) {
			<-ended
		}
		if before != nil {
			<-before.done
			if err := before.failure(); err != nil && f.failure() == nil {
				f.fail(fmt.Errorf("%w: %w", errBehind, err))
			}
		}
		if f.failure() == nil {
			if err := p.commit(ctx, f); err != nil {
				f.fail(err)
			}
		}
	}()
}

// commit writes the events, whose rows are in the tables, and then the
// checkpoint.
func (p *Projector) commit(ctx context.Context, f *pending) error {
	for _, t := range []*recordTable{&f.expired, &f.events} {
		if t.rows > 0 {
			if err := p.insert(ctx, t.name, nil, t.in, nil); err != nil {
				return err
			}
		}
	}
	if !f.ahead {
		return nil
	}
	return p.checkpoint(ctx, f.stream, attested{f.end, f.proof, f.proven, f.floor}, f.arrived)
}

// collect takes over the results of the batches that are done, in order.
func (p *Projector) collect() {
	n := 0
	for ; n < len(p.inFlight) && p.inFlight[n].ended(); n++ {
		f := p.inFlight[n]
		if f.err != nil {
			p.noteFailure(f)
		} else {
			if f.ahead {
				p.marks[f.stream] = f.end
				p.proof, p.carried = f.proof, proof{}
			}
			p.count(func(s *Stats) { s.Batches++; s.Events += f.fresh })
		}
		p.spare = append(p.spare, f.block)
		f.block, f.ids, f.before, f.events, f.expired = nil, nil, nil, recordTable{}, recordTable{}
	}
	if n > 0 {
		p.inFlight = slices.Delete(p.inFlight, 0, n)
		p.gauge()
	}
}

// noteFailure records that rows of the batch may be in the tables, and that
// batches begun before the caller knows must fail too.
func (p *Projector) noteFailure(f *pending) {
	if f.end.after(p.uncertain) {
		p.uncertain = f.end
	}
	_ = p.failed(f.err)
	if !f.reported {
		p.failing = f
	}
}

// settle waits until no batch is under way.
func (p *Projector) settle() {
	for _, f := range p.inFlight {
		<-f.done
	}
	p.collect()
}

// underWay reports whether the event is in a batch under way.
func (p *Projector) underWay(id uuid.UUID) bool {
	for _, f := range p.inFlight {
		if _, ok := f.ids[id]; ok {
			return true
		}
	}
	return false
}

// takeBlock returns an empty block, one that was used before if there is one.
func (p *Projector) takeBlock() *block {
	n := len(p.spare) - 1
	if n < 0 {
		return newBlock()
	}
	b := p.spare[n]
	p.spare = p.spare[:n]
	b.reset()
	return b
}
