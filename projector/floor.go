package projector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/contracts/event"
)

// floor is the capture time from which on rows are kept, in Unix ms: the beginning
// of a quarter in UTC; 0: all are. What is older is in no answer, proof or audit,
// whether it was removed yet or not, and is not written when it comes late. See
// contracts/decisions/053-retention-of-the-tables.md.
type floor int64

// keeps tells whether a capture is not below the floor.
func (f floor) keeps(o *contracts.Observation) bool {
	return f == 0 || o.CapturedAt.UnixMilli() >= int64(f)
}

// of adds the floor to the values of a statement.
func (f floor) of(a args) args {
	a["floor"] = int64(f)
	return a
}

// time is zero where there is no floor.
func (f floor) time() time.Time {
	if f == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(f)).UTC()
}

// quarter is the one that begins at the floor, as partitions are named: YYYYMMDD.
func (f floor) quarter() uint32 {
	if f == 0 {
		return 0
	}
	return uint32(f.time().Year()*10_000 + int(f.time().Month())*100 + 1)
}

// quarterOf is the beginning of the quarter of a time.
func quarterOf(t time.Time) floor {
	t = t.UTC()
	return floor(time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
}

// errFloorRaised: what was compared may have been removed meanwhile.
var errFloorRaised = errors.New("the retention of the tables raised its floor meanwhile; compare again")

// ErrNotByQuarter: the rows of a table do not lie by quarters, so that old ones cannot
// be removed at no cost.
var ErrNotByQuarter = errors.New("the tables do not lie by quarters, as those of earlier versions; \"preismon rebuild\" makes tables that do")

// Quarters gives the quarters of the rows of the two large tables, each as its first
// day, YYYYMMDD: ErrNotByQuarter.
func Quarters(ctx context.Context, conn Conn) (map[string][]uint32, error) {
	var table proto.ColStr
	var quarter proto.ColUInt32
	all := map[string][]uint32{}
	var plain error
	err := conn.Do(ctx, ch.Query{
		Body: question("partitions"), Settings: readSettings,
		Result: proto.Results{{Name: "table", Data: &table}, {Name: "quarter", Data: &quarter}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range quarter {
				if quarter[i] == 0 {
					plain = ErrNotByQuarter
				}
				all[table.Row(i)] = append(all[table.Row(i)], quarter[i])
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("partitions: %w", err)
	}
	return all, plain
}

// Expire raises the floor to the beginning of the quarter of a time, one by one:
// ErrNotByQuarter. While a tail is in doubt it does nothing, and is to be called
// again. Rows below the floor are removed some time after, by Maintain.
func (p *Projector) Expire(ctx context.Context, before time.Time) error {
	to := quarterOf(before)
	if !p.below(to) {
		return nil
	}
	quarters, err := Quarters(ctx, p.conn)
	if err != nil {
		return err
	}
	for {
		if done, err := p.expireQuarter(ctx, to, quarters["observations"]); done || err != nil {
			return err
		}
	}
}

// below tells whether the floor is below another one, as far as is known.
func (p *Projector) below(to floor) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.floor < to
}

// expireQuarter raises the floor by one quarter of those that have rows, or to the
// end. What goes is counted beside the batches, and what came meanwhile again when
// none is under way.
func (p *Projector) expireQuarter(ctx context.Context, to floor, quarters []uint32) (done bool, err error) {
	p.mu.Lock()
	before, err := p.risable(ctx, to)
	p.mu.Unlock()
	if before == nil || err != nil {
		return true, err
	}
	next := to
	for _, q := range quarters {
		if q >= before.floor.quarter() && q < to.quarter() {
			next = quarterOf(time.Date(int(q/10_000), time.Month(q/100%100)+3, 1, 0, 0, 0, 0, time.UTC))
			break
		}
	}
	most, err := p.countExpiring(ctx, before.floor, next, slice{place{}, before.at})
	if err != nil {
		return true, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, err := p.risable(ctx, to)
	if now == nil || err != nil || now.floor != before.floor {
		return true, err
	}
	rest, err := p.countExpiring(ctx, now.floor, next, slice{before.at, now.at})
	if err != nil {
		return true, err
	}
	now.floor, now.proof = next, now.proof.minus(most.plus(rest))
	if err := p.checkpoint(ctx, event.StreamObservations, *now); err != nil {
		return true, p.failed(err)
	}
	p.proof, p.floor, p.raised, p.removed = now.proof, next, time.Now(), time.Time{}
	p.log.Info("rows below the floor expired", "floor", next.time(), "rows", most.rows.n+rest.rows.n)
	return next == to, nil
}

// risable gives the checkpoint as it is; nil where the floor cannot rise now, or
// need not: what a failure left beyond the checkpoint is to be completed first. No
// batch is under way then.
func (p *Projector) risable(ctx context.Context, to floor) (*attested, error) {
	if err := p.quiesce(ctx); err != nil {
		return nil, err
	}
	is := p.attested()
	if to <= p.floor || p.carried != (proof{}) || p.doubt.after(is.at) {
		return nil, nil
	}
	return &is, nil
}

// countExpiring writes how many rows of each event of a range of places, none of it
// beyond the checkpoint, go when the floor rises, and gives what the proof loses.
func (p *Projector) countExpiring(ctx context.Context, from, to floor, s slice) (gone proof, err error) {
	values := from.of(s.args())
	values["next"] = int64(to)
	if err := p.send(ctx, "expired_rows", question("expire_rows"), values, nil, nil); err != nil {
		return gone, err
	}
	var c proofColumns
	return gone, p.read(ctx, "expiring", values, c.results(), func() error {
		for i := range c.rows {
			gone = c.row(i)
		}
		return nil
	})
}

// seeFloor looks whether the floor was raised by a statement whose end was not
// heard of. None runs any more.
func (p *Projector) seeFloor(ctx context.Context) error {
	is, err := readAttested(p.asking(ctx), p.cfg.Partition)
	if err != nil || is.floor <= p.floor {
		return err
	}
	p.floor, p.raised = is.floor, time.Now()
	if is.proven {
		p.proof = is.proof
	}
	return nil
}

// FloorOf is the floor of the tables of a partition; zero: there is none.
func FloorOf(ctx context.Context, conn Conn, partition int) (time.Time, error) {
	a, err := readAttested(func(name string, values args, out proto.Results, block func() error) error {
		return conn.Do(ctx, ch.Query{
			Body: question(name), Parameters: ch.Parameters(values), Settings: readSettings, Result: out,
			OnResult: func(context.Context, proto.Block) error { return block() },
		})
	}, partition)
	return a.floor.time(), err
}

// removeExpired drops the quarters below the floor, once nobody can read them any
// more: reads that began before see the floor that was. Whoever drops them, and
// when, is all the same, for the floor never falls.
func (p *Projector) removeExpired(ctx context.Context) error {
	if p.floor == 0 || time.Since(p.raised) < p.cfg.KeepScopes || time.Since(p.removed) < removeEvery {
		return nil
	}
	quarters, err := Quarters(ctx, p.conn)
	if err != nil {
		return err
	}
	for table, all := range quarters {
		for _, q := range all {
			if q >= p.floor.quarter() {
				continue
			}
			sql := strings.NewReplacer("{table}", table, "{quarter}", fmt.Sprint(q)).Replace(question("drop_quarter"))
			if err := p.write(ctx, "drop", sql, nil, nil); err != nil {
				return err
			}
			p.log.Info("removed the rows of a quarter", "table", table, "quarter", q)
		}
	}
	p.removed = time.Now()
	return nil
}

// removeEvery is how often quarters to be dropped are looked for.
const removeEvery = time.Minute
