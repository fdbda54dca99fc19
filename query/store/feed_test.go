package store_test

import (
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestFeedReadsWhatIsNew: a page of a feed costs what arrived, not what is
// stored.
func TestFeedReadsWhatIsNew(t *testing.T) {
	w := newWorld(t, 324, 0)
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(10000)")
	w.exec("INSERT INTO scopes VALUES (2, 8, 10000, 10000)")
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	// A batch is 100 rows of one minute; one in a hundred was captured up to a
	// month before. The stored rows are merged into one part; each step adds
	// rows in a part of their own, and step 3 merges all.
	insert := func(from, to int) {
		w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths)
			SELECT 2, -toInt64(? + number * 600 - if(number % 100 = 0, cityHash64(number) % 2592000000, 0)), number % 10000 + 1, 'alpha.example', ?, intDiv(number, 100) + 1, number % 100, 0, 'priceObserved', 'EUR', 1000, -1, 'M', 0, 0, 255
			FROM numbers(?, ?)`, w.now.Add(-48*time.Hour).UnixMilli(), uint32(epoch), from, to-from)
	}
	const stored = 150_000
	insert(0, stored)
	w.exec("OPTIMIZE TABLE observations_by_mandate FINAL")
	w.setMark(stored / 100)
	asked := w.listen()
	f := &feeder{w: w, account: accountOther, ids: map[string]bool{}, rows: map[string]int{}}
	f.token = must.Get(f.now(query.ResultsRequest{}))(t)
	for step := range 5 {
		insert(stored+step*1000, stored+(step+1)*1000)
		if step == 3 {
			w.exec("OPTIMIZE TABLE observations_by_mandate FINAL") // the new rows are among the old ones
		}
		w.setMark(uint64(stored+(step+1)*1000) / 100)
		got, err := f.follow(t, 1000)
		if err != nil || len(got) != 1000 {
			t.Fatalf("%d rows, %v", len(got), err)
		}
		read := asked.take("feed")[0].Rows
		t.Logf("step %d: %d rows stored, %d given, %d read", step, stored, len(got), read)
		most := uint64(10 * 1000)
		if step == 3 {
			most = 25 * 1000 // a late row is in a granule of old ones
		}
		if read > most {
			t.Errorf("step %d: %d rows are read for %d", step, read, len(got))
		}
	}
}
