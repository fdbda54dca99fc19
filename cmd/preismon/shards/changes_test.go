package shards_test

import (
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// record is a new event of the catalogue.
func record(kind event.Kind, data event.Payload) *event.Event {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return &event.Event{
		ID: h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], Kind: kind, Producer: "shards", ProducedAt: time.Now().UTC().Truncate(time.Millisecond), Data: data,
	}
}

// changes: what is revoked from an account and from a mandate is gone from all
// shards, and what is granted again is back. VIS-05.
func (e *estate) changes(t *testing.T) {
	const path = "/v1/results?limit=10000&"
	three := e.forms[3].nodes
	anna, bert := e.client(t, "anna"), e.client(t, "bert")
	followed := e.feeds(anna, bert)
	before, narrow := anna.walk(three, path+e.whole()), bert.walk(three, path+e.whole())

	_, account := e.account("bert")
	revoked := *account
	revoked.Scope = contracts.AccountScope{AllOrders: true, Sites: []contracts.SiteKey{"demo-none.example"}}
	var order *contracts.Order
	for ev := range e.market.Catalog() {
		if o, ok := ev.Data.(*contracts.Order); ok && o.MandateID == account.MandateID && o.Active && (order == nil || len(o.Items) > len(order.Items)) {
			order = o
		}
	}
	less := *order
	less.Items = order.Items[:len(order.Items)/2]
	e.publish(record(event.KindAccount, &revoked), record(event.KindOrder, &less))
	e.waitApplied()
	if got := bert.walk(three, path+e.whole()); len(got) != 0 {
		t.Errorf("an account that may see nothing any more sees %d rows", len(got))
	}
	followed.end(t, query.CodeFeedScopeChanged)
	fewer := anna.walk(three, path+e.whole())
	if len(fewer) >= len(before)*9/10 || len(fewer) == 0 {
		t.Errorf("%d rows when an order has half of its items, %d before", len(fewer), len(before))
	}
	e.compare(t, []string{"anna"}, "window", "order", "latest set", "stream, ascending")

	e.publish(record(event.KindAccount, account), record(event.KindOrder, order))
	e.waitApplied()
	// The deletion of what was revoked may still be running, and what is
	// granted again waits for it.
	for n, f := range e.forms {
		var rows int
		err := must.Until(time.Minute, "all that was given back is there", func() bool {
			rows = len(anna.walk(f.nodes, path+e.whole()))
			return rows == len(before)
		})
		if err != nil {
			t.Errorf("%d shards: %v: %d rows, %d before", n, err, rows, len(before))
		}
	}
	if got := bert.walk(three, path+e.whole()); len(got) != len(narrow) {
		t.Errorf("%d rows of the narrowed account when all was given back, %d before", len(got), len(narrow))
	}
}

// anotherLeader: a second projector of a partition stands by, and continues
// where the killed one stopped; the other partitions do not wait. Who follows
// what is new meanwhile gets all of it, once.
func (e *estate) anotherLeader(t *testing.T) {
	f := e.forms[3]
	standby := e.projector(f, 1)
	followed := e.feeds(e.client(t, "anna"), e.client(t, "clara"))
	before := f.count("SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS'")
	f.projectors[1].Kill()
	began := time.Now()
	e.later(3*time.Hour, followed.follow)
	e.waitApplied()
	t.Logf("the other leader has everything %v after the first was killed", time.Since(began).Round(time.Millisecond))
	for p, seq := range f.count("SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS'") {
		if seq <= before[p] {
			t.Errorf("partition %d stands at %d", p, seq)
		}
	}
	f.projectors[1] = standby
	followed.same(t)
	e.compare(t, []string{"anna"}, "window", "product", "latest set", "site")
}
