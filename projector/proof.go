package projector

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// proof is what ingested_events and observations must hold up to a position: the
// counts, and the sums of the hashes of the events' ids and of the rows'
// positions. It is counted from the events that are applied, not from the tables,
// and written with each checkpoint; proof.sql counts the same from the tables.
// Sums are modulo 2^64 and independent of order, so it does not matter how
// batches were cut.
type proof struct{ events, rows digest }

func (a proof) plus(b proof) proof {
	return proof{
		digest{a.events.n + b.events.n, a.events.sum + b.events.sum},
		digest{a.rows.n + b.rows.n, a.rows.sum + b.rows.sum},
	}
}

func (a proof) minus(b proof) proof {
	return proof{
		digest{a.events.n - b.events.n, a.events.sum - b.events.sum},
		digest{a.rows.n - b.rows.n, a.rows.sum - b.rows.sum},
	}
}

// add counts an event and those of its rows that the floor keeps.
func (a *proof) add(e *freshEvent) {
	a.events.n++
	a.events.sum += hashID(e.id)
	for i, o := range e.captures() {
		rows := o.Rows()
		for k := range rows {
			a.rows.sum += hashPosition(e.at, i, k)
		}
		a.rows.n += uint64(rows)
	}
}

func hashID(id uuid.UUID) uint64 { return xxhash.Sum64String(id.String()) }

func hashPosition(at position, capture, offer int) uint64 {
	return intHash64(intHash64(uint64(at.epoch)<<32|uint64(capture)<<16|uint64(offer)) ^ at.seq)
}

// intHash64 is the ClickHouse function of that name.
func intHash64(x uint64) uint64 {
	x ^= 0x4CF2D2BAAE6DA887
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// row receives the result of proof.sql.
func (a *proof) row() clickhouse.Row {
	return clickhouse.Row{"events": &a.events.n, "events_sum": &a.events.sum, "rows": &a.rows.n, "rows_sum": &a.rows.sum}
}

// asking runs a query, as Projector.read and Auditor.read do.
type asking func(name string, values args, row clickhouse.Row, each func()) error

// tally counts what the tables hold after one position and up to another, from the
// floor on.
func tally(ask asking, s slice, from floor) (sum proof, err error) {
	err = ask("proof", from.of(s.args()), sum.row(), nil)
	return sum, err
}

// attested is a checkpoint of OBSERVATIONS with its proof.
type attested struct {
	at     position
	proof  proof
	proven bool
	floor  floor
}

func readAttested(ask asking, partition int) (a attested, err error) {
	var proven uint64
	row := a.proof.row()
	row["epoch"], row["seq"], row["proven"], row["floor"] = &a.at.epoch, &a.at.seq, &proven, (*int64)(&a.floor)
	err = ask("checkpoint_proof", args{"partition": partition}, row, nil)
	a.proven = proven == 1
	return a, err
}

// refute returns where the contents of the tables differ from the proof.
func (a attested) refute(is proof) (all []Finding) {
	for _, t := range []struct {
		table   string
		due, is digest
	}{{"ingested_events", a.proof.events, is.events}, {"observations", a.proof.rows, is.rows}} {
		f := Finding{Where: t.table, Epoch: a.at.epoch, First: 1, Last: a.at.seq}
		switch {
		case t.due == t.is:
			continue
		case t.is.n < t.due.n:
			f.What, f.Count = Missing, t.due.n-t.is.n
		case t.is.n > t.due.n:
			f.What, f.Count = Doubled, t.is.n-t.due.n
		default:
			f.What, f.Count = Differs, 1
		}
		f.Text = fmt.Sprintf("by the proof of the checkpoint %d rows were written, and there are %d", t.due.n, t.is.n)
		if t.due.n == t.is.n {
			f.Text = fmt.Sprintf("there are %d rows, as many as were written, but not the same ones", t.is.n)
		}
		all = append(all, f)
	}
	return all
}

func (p *Projector) asking(ctx context.Context) asking {
	return func(name string, values args, row clickhouse.Row, each func()) error {
		return p.read(ctx, name, values, row, each)
	}
}

// loadProof reads the proof of the checkpoint.
func (p *Projector) loadProof(ctx context.Context) error {
	a, err := readAttested(p.asking(ctx), p.cfg.Partition)
	p.proof, p.carried, p.floor, p.raised = a.proof, proof{}, a.floor, time.Now()
	p.proven = a.proven || a.at == position{}
	return err
}

// attested returns the current checkpoint, while no batch is under way.
func (p *Projector) attested() attested {
	return attested{p.marks[event.StreamObservations], p.proof, p.proven, p.floor}
}

// carry counts what is beyond the checkpoint and from epochs before the one
// that begins: events that were ingested and whose messages the stream then
// lost. They are not delivered again, and the next checkpoint passes them.
func (p *Projector) carry(ctx context.Context, epoch uint32) (err error) {
	p.carried, err = tally(p.asking(ctx), slice{p.marks[event.StreamObservations], position{epoch - 1, math.MaxUint64}}, p.floor)
	return err
}

// reachedProof returns the proof of the position that is reached after everything
// under way is done.
func (p *Projector) reachedProof() proof {
	if n := len(p.inFlight); n > 0 {
		return p.inFlight[n-1].proof
	}
	return p.proof.plus(p.carried)
}

// Proof is the result of comparing the tables with the proof of a checkpoint.
type Proof struct {
	At       time.Time
	Findings []Finding // empty: the tables hold what was applied
}

// Prove compares what the tables hold up to the checkpoint with its proof, in
// one statement and while batches continue. If the checkpoint has no proof yet,
// it creates one from what is there. Call it at the start until it returns no
// error: a table that lost rows before is noticed then.
func (p *Projector) Prove(ctx context.Context) (Proof, error) {
	p.mu.Lock()
	err := p.quiesce(ctx)
	was := p.attested()
	p.mu.Unlock()
	if err != nil {
		return Proof{}, err
	}
	out := Proof{At: time.Now()}
	is, err := tally(p.asking(ctx), slice{position{}, was.at}, was.floor)
	if err != nil {
		return Proof{}, err
	}
	if now, err := readAttested(p.asking(ctx), p.cfg.Partition); err != nil || now.floor != was.floor {
		return Proof{}, cmp.Or(err, ErrFloorRaised) // rows may have been removed meanwhile
	}
	if was.proven {
		for _, f := range was.refute(is) {
			f.Text = f.words()
			out.Findings = append(out.Findings, f)
		}
		return out, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.quiesce(ctx); err != nil {
		return Proof{}, err
	}
	if p.floor != was.floor {
		return Proof{}, ErrFloorRaised
	}
	p.proof, p.proven = p.proof.plus(is.minus(was.proof)), true
	if err := p.checkpoint(ctx, event.StreamObservations, p.attested(), nil); err != nil {
		return Proof{}, p.failed(err)
	}
	p.log.Info("a proof of the tables was made", "events", p.proof.events.n, "rows", p.proof.rows.n)
	return out, nil
}
