package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2" // the driver for counting

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/ingest"
)

// doubles are queries that count duplicate rows per table.
var doubles = map[string]string{
	"observations":                   `SELECT count() - uniqExact(epoch, seq, capture, offer) FROM observations`,
	"observations, by their content": `SELECT count() - uniqExact(price_minor) FROM observations`,
	"observations_by_mandate":        `SELECT count() - uniqExact(mandate, price_minor) FROM observations_by_mandate`,
	"latest_observations":            `SELECT count() - uniqExact(item, site) FROM latest_observations FINAL`,
	"ingested_events":                `SELECT count() - uniqExact(event_id) FROM ingested_events`,
}

// doubled counts duplicate rows in all tables. Because there must never be any,
// it may be called at any time.
func doubled(ctx context.Context, db *sql.DB) (total uint64, err error) {
	for table, query := range doubles {
		var n uint64
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return total, fmt.Errorf("%s: %w", query, err)
		}
		if n > 0 {
			total += n
			err = errors.Join(err, wrong("I2", "%d rows doubled in %s", n, table))
		}
	}
	return total, err
}

// stored compares the rows captured since a moment with those due; mandate 0
// means the table observations. lost counts the missing rows.
func (w *world) stored(ctx context.Context, mandate uint64, since int64, due map[int64]*fact) (lost int, err error) {
	query := `SELECT price_minor, item, toString(site), toUnixTimestamp64Milli(captured_at), toString(merchant) FROM observations WHERE captured_at >= fromUnixTimestamp64Milli(?)`
	args := []any{since}
	if mandate > 0 {
		query = `SELECT price_minor, item, toString(site), -captured_desc, toString(merchant) FROM observations_by_mandate WHERE mandate = ? AND captured_desc <= ?`
		args = []any{mandate, -since}
	}
	rows, err := w.db().QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close() //nolint:errcheck // read to its end
	left := make(map[int64]*fact, len(due))
	for k, f := range due {
		left[k] = f
	}
	var bad error
	for rows.Next() {
		var got fact
		if err := rows.Scan(&got.price, (*uint64)(&got.item), (*string)(&got.site), &got.at, &got.merchant); err != nil {
			return 0, err
		}
		want := due[got.price]
		if f := w.ledger.known(got.price); want == nil && f != nil && mayGet(mandate, f) {
			want = f // allowed until revoked rows are deleted
		}
		switch {
		case want == nil && bad == nil:
			bad = wrong("I3", "mandate %d: a row that is not due: %+v", mandate, got)
		case want != nil && (want.item != got.item || want.site != got.site || want.at != got.at || want.merchant != got.merchant) && bad == nil:
			bad = wrong("I3", "mandate %d: the row %+v was sent as %+v", mandate, got, *want)
		}
		delete(left, got.price)
	}
	return len(left), errors.Join(rows.Err(), bad)
}

// newest compares the table of the latest captures with the latest of all
// events.
func newest(ctx context.Context, db *sql.DB, all map[int64]*fact) error {
	want := map[contracts.Pair]*fact{}
	for _, f := range all {
		p := contracts.Pair{Item: f.item, Site: f.site}
		if want[p] == nil || want[p].at < f.at {
			want[p] = f
		}
	}
	rows, err := db.QueryContext(ctx, `SELECT item, toString(site), toUnixTimestamp64Milli(captured_at), length(price_minor) FROM latest_observations FINAL`)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // read to its end
	var bad error
	for rows.Next() {
		var p contracts.Pair
		var at int64
		var offers uint64
		if err := rows.Scan((*uint64)(&p.Item), (*string)(&p.Site), &at, &offers); err != nil {
			return err
		}
		if f := want[p]; f == nil || f.at != at || f.offers != int(offers) {
			bad = wrong("I3", "latest of %v: %d with %d offers, want %+v", p, at, offers, f)
		}
		delete(want, p)
	}
	if len(want) > 0 {
		bad = errors.Join(bad, wrong("I1", "%d pairs lack in latest_observations", len(want)))
	}
	return errors.Join(rows.Err(), bad)
}

// healed is the time that everything acknowledged may take to become visible
// after a fault is over.
const healed = 60 * time.Second

// verdictOf is what the checks after one fault found.
type verdictOf struct {
	lost    int
	doubled uint64
	lag     time.Duration // until everything was visible
	err     error
	absent  error // why the fault did not come about; nil: it did
}

// settle waits until everything acknowledged is in the tables and in the
// answers, and proves that nothing else is. The producer is paused.
func (w *world) settle(ctx context.Context, since int64) (v verdictOf) {
	began := time.Now()
	if err := w.producer.pause(healed); err != nil {
		v.err = err
		return v
	}
	for ; ; time.Sleep(50 * time.Millisecond) {
		lost, err := w.lacking(ctx, since)
		var f *finding
		if errors.As(err, &f) {
			v.lost, v.err = lost, err
			break
		}
		if err == nil && lost == 0 && w.reached(event.StreamObservations) {
			break
		}
		if time.Since(began) > w.patience {
			v.lost = lost
			v.err = errors.Join(err, wrong("I1", "after %s, %d rows of acknowledged events are not there, or the end of the stream is not reached", w.patience, lost))
			break
		}
	}
	v.lag = time.Since(began)
	n, err := doubled(ctx, w.db())
	v.doubled, v.err = n, errors.Join(v.err, err)
	v.err = errors.Join(v.err, newest(ctx, w.db(), w.ledger.due(0, 0)), w.checkDeadLetters(ctx), w.ready())
	if v.err == nil {
		v.err = w.count(ctx)
	}
	return v
}

// ready reports a finding if a role does not report that it is ready although
// all is well again.
func (w *world) ready() error {
	for _, r := range []*process.Role{w.projectors[0], w.projectors[1], w.query} {
		if r == nil {
			continue
		}
		if err := must.Until(patience, r.Args[0]+" is ready", r.Ready); err != nil {
			return wrong("I7", "%v", err)
		}
	}
	return nil
}

// lacking counts the due rows that are missing from a table or an answer.
func (w *world) lacking(ctx context.Context, since int64) (lost int, err error) {
	for mandate := range uint64(3) {
		due := w.ledger.due(mandate, since)
		n, err := w.stored(ctx, mandate, since, due)
		if err != nil || n > 0 {
			return n, err
		}
		if mandate == 0 {
			continue
		}
		got, err := w.readers[mandate-1].pages(ctx, 1000)
		if err != nil {
			return 0, err
		}
		followed, err := w.readers[mandate-1].changes(ctx)
		if err != nil {
			return 0, err
		}
		for k := range due {
			if got[k] == nil || followed[k] == nil {
				lost++
			}
		}
		if lost > 0 {
			return lost, nil
		}
	}
	return 0, nil
}

// reached reports whether a stream is applied to its end, including rows that
// no mandate sees and messages that are not events.
func (w *world) reached(stream string) bool {
	end, err := ingest.End(context.Background(), w.streams(), stream)
	return err == nil && w.checkpoint(stream) >= end
}

// checkpoint is the sequence up to which a stream is applied.
func (w *world) checkpoint(stream string) (seq uint64) {
	_ = w.db().QueryRow(`SELECT max((epoch, seq)).2 FROM checkpoints WHERE stream = ?`, stream).Scan(&seq)
	return seq
}
