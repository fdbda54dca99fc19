package projector_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestRegrantByNewLeader revokes pairs and lets a new leader grant them again
// at once, while their rows are being deleted or are about to be: afterwards
// their history is complete.
func TestRegrantByNewLeader(t *testing.T) {
	effort.Full(t, "regrants beside deletions that are killed")
	const rounds = 3
	w := newWorld(t)
	w.cfg.BackfillRows = 1 // one part per item: some are finished before others begin
	w.restart()
	granted := order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})
	w.apply(w.catalog(mandate(1, 100)))
	w.exec(`INSERT INTO observations (item, site, captured_at, epoch, seq, title)
		SELECT 1 + number % 5, concat('shop-', toString(number % 3), '.example'), toDateTime64('2026-11-01 00:00:00', 3) + number, 1, number, toString(cityHash64(number))
		FROM numbers(300000)`)
	lost := 0
	for range rounds {
		w.apply(w.catalog(granted))
		w.settle()
		w.apply(w.catalog(order(1, 10, true, 0, []int{1}, []int{0})))
		for running := uint64(0); running == 0; { // until it runs, or is done
			w.scan(`SELECT (SELECT count() FROM system.merges WHERE database = currentDatabase() AND is_mutation)
				+ (SELECT countIf(NOT is_done) = 0 FROM system.mutations WHERE database = currentDatabase())`, nil, &running)
		}
		w.restart()
		w.apply(w.catalog(granted))
		w.settle()
		var rows uint64
		w.scan("SELECT count() FROM observations_by_mandate WHERE mandate = 1", nil, &rows)
		time.Sleep(200 * time.Millisecond) // a deletion that was killed may end later
		var later uint64
		w.scan("SELECT count() FROM observations_by_mandate WHERE mandate = 1", nil, &later)
		if rows != 300_000 || later != rows {
			lost++
			t.Logf("%d rows, and %d a little later", rows, later)
		}
	}
	if lost > 0 {
		t.Errorf("history was lost in %d of %d rounds", lost, rounds)
	}
}

// TestWaitingGrant holds a deletion of a mandate's rows. A grant of that
// mandate waits for it, under the leader that began it and under the next;
// pairs that are revoked are hidden at once, and no other mandate waits.
func TestWaitingGrant(t *testing.T) {
	for _, next := range []bool{false, true} {
		t.Run(fmt.Sprintf("next leader %v", next), func(t *testing.T) {
			w := newWorld(t)
			w.apply(w.catalog(mandate(1, 100), mandate(2, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2}), order(2, 20, true, 0, []int{1}, []int{0, 1})))
			w.apply(w.observations(60))
			w.verify()
			w.exec("SYSTEM STOP MERGES observations_by_mandate")
			t.Cleanup(func() { w.exec("SYSTEM START MERGES observations_by_mandate") })
			w.apply(w.catalog(order(1, 10, true, 0, []int{1, 2}, []int{0, 1, 2})))
			if next {
				w.restart()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for _, b := range []*event.Batch{
				w.catalog(order(1, 10, true, 0, []int{2, 4, 5}, []int{0, 1, 2}), order(2, 20, true, 0, []int{1, 2, 3}, []int{0, 1})),
				w.observations(20),
			} {
				if err := w.try(ctx, b); err != nil {
					t.Fatalf("the deletion holds up %s: %v", b.Stream, err)
				}
			}
			diff(t, "rows of another mandate", w.oracle.rowsOf(2), rowsOf(2, w.tableRows("observations_by_mandate", 1)))
			want := map[mandatePair][]uint64{}
			for site := range 3 {
				want[mandatePair{2, string(siteKey(site))}] = []uint64{10}
			}
			diff(t, "the mandate's scope", want, w.scopeRows()[1])
			must.Do(t, w.p.Maintain(ctx))
			equals.Is(t, 1, w.p.Stats().WaitingGrants, "grants wait")
			var pairs uint64 // which the deletion reads once it may run, and else would take all rows for foreign
			w.scan(`SELECT count() FROM scope_pairs WHERE mandate = 1 AND version = (
				SELECT toUInt64(extract(command, 'version = (\\d+)')) FROM system.mutations
				WHERE database = currentDatabase() AND table = 'observations_by_mandate' AND NOT is_done LIMIT 1)`, nil, &pairs)
			if pairs != 6 {
				t.Errorf("%d of the 6 pairs of the deletion's version are left", pairs)
			}
			w.exec("SYSTEM START MERGES observations_by_mandate")
			w.verify()
			equals.Is(t, 0, w.p.Stats().WaitingGrants, "grants wait at the end")
		})
	}
}

// TestRegrantAfterAnUnknownRevocation publishes a scope without some pairs,
// loses the answer, and receives the revocation again together with the next
// grant: the scope in force is what the orders give, although that equals the
// scope before.
func TestRegrantAfterAnUnknownRevocation(t *testing.T) {
	w := newWorld(t)
	wide := order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2})
	w.apply(w.catalog(mandate(1, 100), wide))
	w.apply(w.observations(40))
	w.verify()
	b := w.catalog(order(1, 10, true, 0, []int{1, 2}, []int{0, 1, 2}))
	w.conn.failOnce("scopes", true)
	if err := w.try(t.Context(), b); err == nil {
		t.Fatal("no failure")
	}
	again := w.catalog(wide)
	b.Last, b.Messages = again.Last, append(b.Messages, again.Messages...)
	w.apply(b)
	w.verify()
}

func (o *oracle) rowsOf(mandate uint64) map[key]row { return rowsOf(mandate, o.mandateRows()) }

func rowsOf(mandate uint64, rows map[key]row) map[key]row {
	out := map[key]row{}
	for k, r := range rows {
		if k.Mandate == mandate {
			out[k] = r
		}
	}
	return out
}

// offersOf returns an event of so many rows of an item at a site.
func (w *world) offersOf(item, site, rows int) *event.Event {
	o := contracts.Observation{ItemID: contracts.ItemID(item), CapturedAt: start, Outcome: contracts.PriceObserved}
	for i := range rows {
		price := int64(100 + i)
		o.Offers = append(o.Offers, contracts.Offer{Merchant: fmt.Sprint("merchant ", i), Price: &price, CurrencyCode: "EUR"})
	}
	return &event.Event{ID: newID(w.rnd), Kind: event.KindObservations, ProducedAt: start.Add(time.Hour), Data: &contracts.Observations{
		Site: siteKey(site), Observations: []contracts.Observation{o},
	}}
}

// TestGrantWithATail: a batch that failed left rows in observations_by_mandate
// only, more than a pair of the same product has that is granted before the
// batch is tried again.
func TestGrantWithATail(t *testing.T) {
	w := newWorld(t)
	batch := func(events ...*event.Event) *event.Batch {
		b := w.batchOf(events...)
		w.oracle.observe(b)
		return b
	}
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1}, []int{0})))
	w.apply(batch(w.offersOf(1, 1, 1), w.offersOf(1, 0, 3)))
	w.exec("TRUNCATE TABLE scopes_applied") // as after a restore
	w.conn.failOnce("observations", false)
	b := batch(w.offersOf(1, 0, 2))
	if err := w.try(t.Context(), b); err == nil {
		t.Error("no failure")
	}
	equals.Is(t, 5, count(w, "SELECT count() FROM observations_by_mandate"), "rows of mandate 1: the batch that failed wrote its own")
	w.restart()
	w.apply(w.catalog(order(1, 10, true, 0, []int{1}, []int{0, 1})))
	w.must(b)
	w.verify()
}

func (w *world) exec(q string) {
	w.t.Helper()
	if _, err := w.db.Exec(q); err != nil {
		w.t.Fatalf("%s: %v", q, err)
	}
}
