package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/store"
)

// deaf is a store whose feed misses every row.
type deaf struct{ *store.Store }

func (deaf) Feed(context.Context, query.Visibility, *query.FeedQuery, func(*query.Block) error) error {
	return nil
}

// TestAccountsAreCompared: the switch compares what is remembered of an account,
// too, and fails a request for which the tables say something else.
func TestAccountsAreCompared(t *testing.T) {
	w := newWorld(t, 670, 0)
	w.reports()
	s := w.over(w.store, func(c *query.Config) { c.CheckRemembered = true })
	read := func() error {
		_, err := s.Sites(t.Context(), query.Principal{Account: accountOrder}, query.SitesRequest{})
		return err
	}
	must.Do(t, read())
	equals.Is(t, 0, s.Stats().Checked, "compared at the first read")
	must.Do(t, read())
	if is := s.Stats(); is.Checked != 2 || is.Differences != 0 {
		t.Errorf("the account and the sites were not compared: %+v", is)
	}
	must.Do(t, w.conn.Exec(t.Context(), "INSERT INTO accounts SELECT * REPLACE([201] AS orders, version + 1 AS version) FROM accounts FINAL WHERE account = 12")) // not announced
	if err := read(); err == nil || !strings.Contains(err.Error(), "access: remembered") || s.Stats().Differences != 1 {
		t.Errorf("an account that changed: %v, %+v", err, s.Stats())
	}
}

// TestUnchangedIsCompared: the switch reads the rows of an answer of "unchanged"
// as they were and as they are.
func TestUnchangedIsCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 671, 300)
	w.reports()
	over := func(of query.Store) *query.Service {
		return w.over(of, func(c *query.Config) { c.CheckRemembered = true })
	}
	right, wrong := over(w.store), over(deaf{w.store})
	r := query.ResultsRequest{GlobalScope: true, CapturedFrom: w.now.Add(-48 * time.Hour).Format(time.RFC3339), CapturedTo: w.now.Add(-time.Hour).Format(time.RFC3339), Condition: &query.Condition{}}
	caller := query.Principal{Account: accountWhole}
	must.Do(t, right.StreamResults(t.Context(), caller, r, &lines{}))
	tag := r.Condition.Tag
	arrive := func(ago time.Duration) {
		t.Helper()
		w.mark++
		w.write([]obsRow{{item: 1, site: "alpha.example", epoch: w.epoch, seq: w.mark, outcome: contracts.Unavailable, price: -1, ms: w.now.Add(-ago).UnixMilli()}})
		w.setMark(w.mark)
	}
	unchanged := func(s *query.Service) (bool, error) {
		t.Helper()
		r.Condition = &query.Condition{Tags: []string{tag}}
		return s.Unchanged(t.Context(), caller, r)
	}
	arrive(72 * time.Hour)
	for _, s := range []*query.Service{right, wrong} {
		before := s.Stats().Checked
		same := must.Get(unchanged(s))(t)
		if !same || s.Stats().Checked == before {
			t.Errorf("unchanged %v, compared %d", same, s.Stats().Checked-before)
		}
	}
	arrive(2 * time.Hour)
	if same, err := unchanged(right); err != nil || same {
		t.Errorf("a row of the window arrived: %v, %v", same, err)
	}
	if same, err := unchanged(wrong); err == nil || same || !strings.Contains(err.Error(), "unchanged stream: remembered") || wrong.Stats().Differences != 1 {
		t.Errorf("nobody noticed the row: %v, %v, %+v", same, err, wrong.Stats())
	}
}
