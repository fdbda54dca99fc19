package store_test

import (
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestUnpackedBlocks: a page that is read again unpacks no block, and the slices
// of a stream leave those of the small reads alone. Decision 075.
func TestUnpackedBlocks(t *testing.T) {
	w := newWorld(t, 5, 2000)
	caller := query.Principal{Account: accountWhole}
	// blocks returns how many statements ran, with or without a limit, and how many
	// blocks they found unpacked, and had to unpack for the next one.
	blocks := func(limit string) (n, found, missed uint64) {
		w.exec("SYSTEM FLUSH LOGS query_log")
		must.Do(t, w.conn.QueryRow(t.Context(), `
SELECT count(), sum(ProfileEvents['UncompressedCacheHits']), sum(ProfileEvents['UncompressedCacheMisses'])
FROM system.query_log
WHERE type = 'QueryFinish' AND current_database = currentDatabase() AND query LIKE '%AS captured_ms%FROM observations_by_mandate%' AND query `+limit+` '%LIMIT%'`).Scan(&n, &found, &missed))
		return n, found, missed
	}
	for limit := 100; limit < 102; limit++ {
		_, err := w.service.Results(t.Context(), caller, query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-03-02", CapturedTo: "2026-03-08", Limit: &limit})
		must.Do(t, err)
	}
	if n, found, missed := blocks("LIKE"); n < 2 || found == 0 || found < missed {
		t.Errorf("%d pages: %d blocks were unpacked already, %d were not", n, found, missed)
	}
	must.Do(t, w.service.StreamResults(t.Context(), caller, query.ResultsRequest{GlobalScope: true, CapturedFrom: "2026-03-02", CapturedTo: "2026-03-08"}, &lines{}))
	if n, found, missed := blocks("NOT LIKE"); n == 0 || found+missed != 0 {
		t.Errorf("%d slices: %d blocks were unpacked already, %d were kept", n, found, missed)
	}
}
