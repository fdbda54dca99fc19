package store_test

import (
	"testing"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// shifted calls a function one time, with the first rows of a stream.
type shifted struct {
	lines
	with func()
}

func (s *shifted) Send(ndjson []byte, rows int) error {
	if s.with != nil {
		s.with()
		s.with = nil
	}
	return s.lines.Send(ndjson, rows)
}

// TestStreamOverAScopeChange: a scope gets a new version while a stream is read
// slice by slice, and the pairs of the old one are deleted. The slices after
// that find nothing, so the stream must not end as if it were complete.
func TestStreamOverAScopeChange(t *testing.T) {
	w := newWorld(t, 12, 800)
	t.Run("the client leaves", func(t *testing.T) { w.streamEndsWithItsClient(t) })
	w.cfg.PairRows = 1 << 30 // not by pair: a read by pair is one statement
	w.listen()
	r := query.ResultsRequest{OrderID: orderA, CapturedFrom: "2026-01-01"}
	var whole lines
	must.Do(t, w.service.StreamResults(t.Context(), query.Principal{Account: accountWhole}, r, &whole))
	torn := shifted{with: func() {
		w.exec("INSERT INTO scope_pairs SELECT mandate, 8, item, site, orders FROM scope_pairs WHERE mandate = 1 AND version = 7")
		w.exec("INSERT INTO scopes VALUES (1, 8, 1, 6)")
		w.exec("INSERT INTO scopes_applied VALUES (1, 0, 8)")
		w.exec("DELETE FROM scope_pairs WHERE mandate = 1 AND version = 7")
	}}
	err := w.service.StreamResults(t.Context(), query.Principal{Account: accountWhole}, r, &torn)
	if fault.KindOf(err) != fault.Unavailable || torn.rows == 0 || torn.rows >= whole.rows {
		t.Errorf("%d rows of %d, %v", torn.rows, whole.rows, err)
	}
	var again lines
	if err := w.service.StreamResults(t.Context(), query.Principal{Account: accountWhole}, r, &again); err != nil || again.text.String() != whole.text.String() {
		t.Errorf("asked again: %d rows of %d, %v", again.rows, whole.rows, err)
	}
}
