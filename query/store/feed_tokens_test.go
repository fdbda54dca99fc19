package store_test

import (
	"errors"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// A token belongs to its account and holds its query; queries for which there
// is no feed are refused.
func TestFeedTokens(t *testing.T) {
	w := newWorld(t, 325, 60)
	f := &feeder{w: w, account: accountWhole}
	token := must.Get(f.now(query.ResultsRequest{Site: "alpha.example"}))(t)
	ask := func(a contracts.AccountID, r query.FeedRequest) *fault.Error {
		p, err := w.service.Feed(t.Context(), query.Principal{Account: a}, r)
		if err == nil {
			p.Rows.Release()
			return &fault.Error{}
		}
		e, _ := errors.AsType[*fault.Error](err)
		return e
	}
	for what, got := range map[string]*fault.Error{
		"another account": ask(accountOrder, query.FeedRequest{Since: token}),
		"changed":         ask(accountWhole, query.FeedRequest{Since: token[:8] + "AAAA" + token[8:]}),
		"beside a query":  ask(accountWhole, query.FeedRequest{Since: token, Rows: query.ResultsRequest{Site: "alpha.example"}}),
		"latest":          ask(accountWhole, query.FeedRequest{Rows: query.ResultsRequest{LatestPerPair: true}}),
		"brand":           ask(accountWhole, query.FeedRequest{Rows: query.ResultsRequest{Filters: query.Filters{Brand: "A"}}}),
		"isPrime":         ask(accountWhole, query.FeedRequest{Rows: query.ResultsRequest{Filters: query.Filters{IsPrime: ptr(true)}}}),
		"no time":         ask(accountWhole, query.FeedRequest{Rows: query.ResultsRequest{CapturedFrom: "2026-02-20", CapturedTo: "2026-02-18"}}),
		"no such zone":    ask(accountWhole, query.FeedRequest{Rows: query.ResultsRequest{Timezone: "Nowhere"}}),
	} {
		if got == nil || got.Kind != fault.Invalid || got.Code != query.CodeValidation {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := ask(accountWhole, query.FeedRequest{Since: token}); got.Kind != 0 || got.Msg != "" {
		t.Errorf("its own: %+v", got)
	}
	w.exec("TRUNCATE TABLE checkpoints") // a replica that is behind
	w.setMark(w.mark - 5)
	if got := ask(accountWhole, query.FeedRequest{Since: token}); got.Kind != fault.Unavailable || got.RetryAfter == 0 {
		t.Errorf("a node behind: %+v", got)
	}
	w.setMark(w.mark)
	w.now = w.now.Add(31 * 24 * time.Hour)
	if got := ask(accountWhole, query.FeedRequest{Since: token}); got.Kind != fault.Gone || got.Code != query.CodeFeedTokenExpired {
		t.Errorf("after 31 days: %+v", got)
	}
	w.now = w.now.Add(-31 * 24 * time.Hour)
	w.exec("INSERT INTO items VALUES (1, '5901234123457', '', '', '', 'one', 'B', 'Maker', 2)")
	w.notify("CATALOG")
	if got := ask(accountWhole, query.FeedRequest{Since: token}); got.Kind != 0 || got.Msg != "" {
		t.Errorf("another EAN, which it is not of: %+v", got)
	}
	byEAN := must.Get(f.now(query.ResultsRequest{EAN: "5901234123457"}))(t)
	w.exec("INSERT INTO items VALUES (1, '', '', '', '', 'one', 'B', 'Maker', 3)")
	w.notify("CATALOG")
	if got := ask(accountWhole, query.FeedRequest{Since: byEAN}); got.Code != query.CodeFeedScopeChanged {
		t.Errorf("the EAN names other items: %+v", got)
	}
}
