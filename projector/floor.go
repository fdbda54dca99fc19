package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// floor is the capture time from which rows are kept, in Unix ms: the beginning
// of a quarter in UTC; 0: all are kept. Older rows are in no answer, proof or
// audit, whether they have been removed yet or not, and are not written when
// they arrive late. See contracts/decisions/053-retention-of-the-tables.md.
type floor int64

// keeps reports whether a capture is not below the floor.
func (f floor) keeps(o *contracts.Observation) bool {
	return f == 0 || o.CapturedAt.UnixMilli() >= int64(f)
}

// of adds the floor to the values of a statement.
func (f floor) of(a args) args {
	a["floor"] = int64(f)
	return a
}

// time returns the zero time where there is no floor.
func (f floor) time() time.Time {
	if f == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(f)).UTC()
}

// quarterOf returns the beginning of the quarter of a time.
func quarterOf(t time.Time) floor {
	t = t.UTC()
	return floor(time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
}

// ErrFloorRaised means that what was compared may have been removed meanwhile.
var ErrFloorRaised = errors.New("the retention of the tables raised its floor meanwhile; compare again")

// ErrNotAsProven means that rows are missing or doubled. Because it is unknown
// which of them would be below a floor, the floor does not rise past them.
var ErrNotAsProven = errors.New("the tables do not hold what was applied, so nothing is removed from them: \"preismon audit\" says where, \"preismon rebuild\" or a backup repairs it")

// Expire raises the floor, quarter by quarter, to the beginning of the quarter
// of a time: ErrNotByQuarter, ErrNotAsProven. While it is uncertain what a tail
// holds, or the tables have no proof yet, it does nothing, and must be called
// again. Rows below the floor are removed some time later, by Maintain.
func (p *Projector) Expire(ctx context.Context, before time.Time) error {
	to := quarterOf(before)
	if !p.below(to) {
		return nil
	}
	quarters, err := Quarters(ctx, p.conn)
	if err != nil {
		return err
	}
	if err := p.asProven(ctx, to); err != nil {
		return err
	}
	for {
		if done, err := p.expireQuarter(ctx, to, quarters["observations"]); done || err != nil {
			return err
		}
	}
}

// below reports whether the floor is below another one, as far as is known.
func (p *Projector) below(to floor) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.floor < to
}

// refusedFor is how long tables that did not match their proof are not compared
// again: a comparison reads all of observations.
const refusedFor = time.Hour

// asProven compares the tables with their proof, while batches continue:
// ErrNotAsProven.
func (p *Projector) asProven(ctx context.Context, to floor) error {
	p.mu.Lock()
	was, err := p.risable(ctx, to)
	refused := p.refused
	if time.Since(p.refusedAt) > refusedFor {
		refused = nil
	}
	p.mu.Unlock()
	if err = cmp.Or(err, refused); was == nil || err != nil {
		return err
	}
	is, err := tally(p.asking(ctx), slice{position{}, was.at}, was.floor)
	if wrong := was.refute(is); err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w (%s)", ErrNotAsProven, wrong[0].words())
		p.mu.Lock()
		p.refused, p.refusedAt = err, time.Now()
		p.mu.Unlock()
	}
	return err
}

// expireQuarter raises the floor past the first quarter that has rows, or to
// the end. Most of what goes is counted while batches continue; what came
// meanwhile is counted when no batch is under way.
func (p *Projector) expireQuarter(ctx context.Context, to floor, quarters []Quarter) (done bool, err error) {
	p.mu.Lock()
	before, err := p.risable(ctx, to)
	p.mu.Unlock()
	if before == nil || err != nil {
		return true, err
	}
	next := to
	for _, q := range quarters {
		if !q.First.Before(before.floor.time()) && q.First.Before(to.time()) {
			next = quarterOf(q.next())
			break
		}
	}
	most, err := p.countExpiring(ctx, before.floor, next, slice{position{}, before.at})
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
	if err := p.checkpoint(ctx, event.StreamObservations, *now, nil); err != nil {
		return true, p.failed(err)
	}
	p.proof, p.floor, p.raised, p.removed = now.proof, next, time.Now(), time.Time{}
	p.log.Info("rows below the floor expired", "floor", next.time(), "rows", most.rows.n+rest.rows.n)
	return next == to, nil
}

// risable returns the current checkpoint; nil where the floor cannot rise now,
// or need not: tables without a proof must get one first, and what a failure
// left beyond the checkpoint must be completed first. When it returns, no batch
// is under way.
func (p *Projector) risable(ctx context.Context, to floor) (*attested, error) {
	if err := p.quiesce(ctx); err != nil {
		return nil, err
	}
	is := p.attested()
	if to <= p.floor || !p.proven || p.carried != (proof{}) || p.uncertain.after(is.at) {
		return nil, nil
	}
	return &is, nil
}

// countExpiring writes how many rows of each event in a range of positions, all
// within the checkpoint, expire when the floor rises, and returns what the
// proof loses.
func (p *Projector) countExpiring(ctx context.Context, from, to floor, s slice) (gone proof, err error) {
	values := from.of(s.args())
	values["next"] = int64(to)
	if err := p.read(ctx, "expiring", values, gone.row(), nil); err != nil {
		return gone, err
	}
	// Unlike other writes, it may create any number of parts: a quarter may have
	// too many events for one block, and for one statement.
	blocks := []ch.Setting{ch.SettingInt("min_insert_block_size_rows", p.cfg.MaxBlockRows)}
	lanes := gone.rows.n/uint64(p.cfg.ExpireRows) + 1
	values["lanes"] = lanes
	for lane := range lanes {
		values["lane"] = lane
		if err := p.send(ctx, "expired_rows", ch.Query{Body: question("expire_rows"), Parameters: ch.Parameters(values), Settings: blocks}); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// seeFloor checks whether the floor was raised by a statement with an unknown
// outcome. No such statement is running any more.
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

// FloorOf returns the floor of the tables of a partition; zero: there is none.
func FloorOf(ctx context.Context, conn Conn, partition int) (time.Time, error) {
	a, err := readAttested(func(name string, values args, row clickhouse.Row, each func()) error {
		return read(ctx, conn, name, values, row, each)
	}, partition)
	return a.floor.time(), err
}

// removeExpired drops the quarters below the floor when no reader can need them
// any more: reads that began earlier see the previous floor. It does not matter
// which projector drops them, or when, because the floor never falls.
func (p *Projector) removeExpired(ctx context.Context) error {
	if p.floor == 0 || time.Since(p.raised) < p.cfg.KeepScopes || time.Since(p.removed) < removeEvery {
		return nil
	}
	quarters, err := Quarters(ctx, p.conn)
	if err != nil {
		return err
	}
	is, err := readAttested(p.asking(ctx), p.cfg.Partition) // nothing is removed that the tables do not confirm to be below the floor
	if err != nil {
		return err
	}
	for table, all := range quarters {
		for _, q := range all {
			if !q.First.Before(min(p.floor, is.floor).time()) {
				continue
			}
			sql := strings.NewReplacer("{table}", table, "{quarter}", q.First.Format("20060102")).Replace(question("drop_quarter"))
			if err := p.write(ctx, "drop", sql, nil); err != nil {
				return err
			}
			p.log.Info("removed the rows of a quarter", "table", table, "quarter", q.First.Format(time.DateOnly))
		}
	}
	p.removed = time.Now()
	return nil
}

// removeEvery is how often, at most, quarters to drop are looked for.
const removeEvery = time.Minute
