package projector_test

import (
	"testing"
)

// TestFloorOfManyEvents: when the floor rises past a quarter, what is written
// for each of its events is written by several statements in bounded parts,
// so that the server need not hold all of it, and has the time.
func TestFloorOfManyEvents(t *testing.T) {
	w := newWorld(t)
	w.cfg.MaxBlockRows, w.cfg.ExpireRows = 50_000, 110_000
	w.restart()
	w.exec(`INSERT INTO observations (item, site, captured_at, epoch, seq)
		SELECT 1 + number % 5, 'shop-0.example', toDateTime64('2026-02-01 00:00:00', 3) + number, 1, number FROM numbers(1, 200000)`)
	w.exec("INSERT INTO checkpoints (stream, epoch, seq) VALUES ('OBSERVATIONS', 1, 200000)")
	if _, err := w.p.Prove(t.Context()); err != nil { // creates the proof
		t.Fatal(err)
	}
	w.exec("SYSTEM STOP MERGES expired_rows")
	var statements int
	w.conn.hook(func(id string) error {
		if what(id) == "expired_rows" {
			statements++
		}
		return nil
	})
	w.expire(quarters[1])
	var events, most uint64
	w.scan("SELECT sum(rows), max(rows) FROM system.parts WHERE database = currentDatabase() AND table = 'expired_rows' AND active", nil, &events, &most)
	if events != 200_000 || most > 70_000 || statements < 3 {
		t.Errorf("%d events were written, up to %d at once, by %d statements", events, most, statements)
	}
}
