package shards_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
)

// feed is a client of one form that holds a snapshot and what came after it.
// Each request goes to the next node.
type feed struct {
	client   *client
	form     *form
	path     string // of the snapshot
	requests int
	token    string
	rows     map[string]int // number of each line
	came     []string       // after the snapshot, in order
	ids      map[string]bool
	ended    string // code of the refusal to go on
	later    int    // refusals that said to come back
}

// feeds are those of some clients, of one form after the other.
type feeds [][]*feed

// feeds begins to follow all of the clients' observations in all forms.
func (e *estate) feeds(clients ...*client) (all feeds) {
	window := url.Values{"globalScope": {"true"}, "capturedFrom": {e.from.Format(time.RFC3339)}, "capturedTo": {e.to.Add(48 * time.Hour).Format(time.RFC3339)}}
	for _, c := range clients {
		var of []*feed
		for _, n := range shardCounts {
			f := &feed{
				client: c, form: e.forms[n], rows: map[string]int{}, ids: map[string]bool{},
				path: "/v1/results/stream?" + window.Encode(),
			}
			f.token = f.snapshot(f.rows)
			of = append(of, f)
		}
		all = append(all, of)
	}
	return all
}

func (f *feed) node() *process.Role {
	f.requests++
	return f.form.nodes[f.requests%len(f.form.nodes)]
}

// snapshot reads everything, as soon as what was granted is filled in.
func (f *feed) snapshot(into map[string]int) (token string) {
	f.client.t.Helper()
	var lines []string
	err := must.Until(time.Minute, "a snapshot has a token", func() bool {
		lines, token = f.client.snapshot(f.node(), f.path)
		return token != ""
	})
	if err != nil {
		f.client.t.Fatalf("%s, %d shards: %v", f.client.name, f.form.n, err)
	}
	for _, line := range lines {
		into[strings.TrimSuffix(line, "\n")]++
	}
	return token
}

// page adds the next page, and reports whether it was the last one for now.
func (f *feed) page() (upToDate bool) {
	c := f.client
	c.t.Helper()
	resp, text := c.get(f.node(), "/ext/v1/changes?limit=20&since="+url.QueryEscape(f.token))
	var answer struct {
		Data     []json.RawMessage
		Progress struct {
			Token    string
			UpToDate bool
		}
		Code string
	}
	err := json.Unmarshal(text, &answer)
	switch {
	case err != nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusGone && resp.StatusCode != http.StatusServiceUnavailable:
		c.t.Fatalf("%s, %d shards: %s %v %.300s", c.name, f.form.n, resp.Status, err, text)
	case resp.StatusCode == http.StatusGone:
		f.ended = answer.Code
		return true
	case resp.StatusCode == http.StatusServiceUnavailable: // this node is behind the one that gave the token
		if f.later++; f.later > 1_000 {
			c.t.Fatalf("%s, %d shards: it is still to come back later: %s", c.name, f.form.n, text)
		}
		time.Sleep(50 * time.Millisecond)
		return false
	}
	for _, raw := range answer.Data {
		row, id, ok := strings.Cut(string(raw), `,"rowId":`)
		if !ok || f.ids[id] {
			c.t.Fatalf("%s, %d shards: a row without an id of its own: %s", c.name, f.form.n, raw)
		}
		f.ids[id] = true
		f.rows[row+"}"]++
		f.came = append(f.came, row+"}")
	}
	f.token = answer.Progress.Token
	return answer.Progress.UpToDate
}

// follow reads all feeds as far as they are.
func (all feeds) follow() {
	for _, f := range slices.Concat(all...) {
		for !f.page() {
		}
	}
}

// end checks that all feeds are refused with the code.
func (all feeds) end(t *testing.T, code string) {
	t.Helper()
	all.follow()
	for _, f := range slices.Concat(all...) {
		if f.ended != code {
			t.Errorf("%s, %d shards: the feed ended with %q, want %s", f.client.name, f.form.n, f.ended, code)
		}
	}
}

// same checks that what is followed became the later snapshot in all forms, by
// the same rows in the same order.
func (all feeds) same(t *testing.T) {
	t.Helper()
	for _, of := range all {
		one := of[0]
		for _, f := range of {
			err := must.Until(time.Minute, "all forms are equally far", func() bool {
				feeds{of}.follow()
				return len(f.came) == len(one.came)
			})
			if diff := cmp.Diff(one.came, f.came); err != nil || diff != "" || f.ended != "" {
				t.Errorf("%s, %d shards: %v, ended %q, %d rows (-one server +shards):\n%.2000s", f.client.name, f.form.n, err, f.ended, len(f.came), diff)
			}
			later := map[string]int{}
			f.snapshot(later)
			equals.Checkf(t, later, f.rows, "%s, %d shards (-later snapshot +followed)", f.client.name, f.form.n)
			t.Logf("%s, %d shards: %d rows came after a snapshot, %d requests, %d to come back later", f.client.name, f.form.n, len(f.came), f.requests, f.later)
		}
		if len(one.came) < 20 {
			t.Errorf("%s: %d rows are new: too few to tell anything", one.client.name, len(one.came))
		}
	}
}

// later publishes the observations of the next hours, and calls f now and then.
func (e *estate) later(hours time.Duration, f func()) {
	e.t.Helper()
	to := e.to.Add(hours)
	events := slices.Collect(e.market.Observations(e.to, to))
	for some := range slices.Chunk(events, max(1, len(events)/8)) {
		e.publish(some...)
		f()
	}
	e.to = to
}

// whatIsNew: a feed goes on at any node, also when one is killed; what its
// client then has is the later snapshot.
func (e *estate) whatIsNew(t *testing.T) {
	followed := e.feeds(e.client(t, "anna"), e.client(t, "bert"), e.client(t, "clara"))
	f, published := e.forms[3], 0
	nodes := f.nodes
	e.later(3*time.Hour, func() {
		switch published++; published {
		case 3:
			nodes[1].Kill()
			f.nodes = nodes[:1]
		case 6:
			f.nodes = []*process.Role{nodes[0], e.node(f, 2)}
		}
		followed.follow()
	})
	e.waitApplied()
	followed.same(t)
}

// withoutLeader: while a partition has no leader, feeds do not pass what it has
// yet to write. A mandate whose only order ended in that time has no scope
// there, and an empty one elsewhere: it can begin a feed.
func (e *estate) withoutLeader(t *testing.T) {
	demo, account := e.account("bert")
	fresh := *account
	fresh.AccountID, fresh.MandateID, fresh.LoginIdentifier, fresh.Scope = 900_001, 900_000, "ended@shards.example", contracts.AccountScope{AllOrders: true, AllSites: true}
	begun := contracts.Order{OrderID: 900_002, MandateID: fresh.MandateID, Name: "ended", Active: true, CreatedAt: e.from, Items: []contracts.ItemID{1}, Sites: []contracts.SiteKey{"demo-none.example"}}
	ended := begun
	ended.Active = false

	f := e.forms[3]
	followed := e.feeds(e.client(t, "anna"), e.client(t, "clara"))
	f.projectors[1].Kill()
	reached := func() []uint64 { return f.count("SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS'") }
	before := slices.Max(reached())
	e.later(2*time.Hour, func() {})
	e.publish(record(event.KindMandate, &contracts.Mandate{MandateID: fresh.MandateID, Name: "ended", Package: contracts.Package{Name: "p", MaxItems: 10}}),
		record(event.KindAccount, &fresh), record(event.KindOrder, &begun))
	versions := func() []uint64 {
		return f.count(fmt.Sprintf("SELECT count() FROM scopes WHERE mandate = %d", fresh.MandateID))
	}
	must.Eventually(t, time.Minute, "all is applied where there are leaders", func() bool {
		n, at := versions(), reached()
		return n[0] > 0 && n[2] > 0 && at[0] > before && at[2] > before
	})
	followed.follow()
	e.publish(record(event.KindOrder, &ended))
	f.projectors[1] = e.projector(f, 1)
	e.waitApplied()
	followed.same(t)
	if n := versions(); n[0] == 0 || n[1] > 0 || n[2] == 0 {
		t.Errorf("the partitions have %v versions of the scope: that says nothing", n)
	}
	for _, f := range slices.Concat(e.feeds(e.login(t, "ended", &fresh, demo.Password))...) {
		if !f.page() || len(f.rows) > 0 || f.ended != "" {
			t.Errorf("%d shards: %d rows, ended %q", f.form.n, len(f.rows), f.ended)
		}
	}
}
