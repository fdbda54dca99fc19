package projector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/store"
)

// nodes are two query nodes that remember, and as many new ones as needed,
// which remember nothing, over the tables of a world.
type nodes struct {
	*world
	old      [2]*query.Service
	now      time.Time
	requests []request            // reads of this step
	past     map[request][]string // answers of new nodes since the step began
	during   int                  // comparisons during the projector's steps
}

// request is a read by a caller.
type request struct {
	what   string
	caller contracts.AccountID
}

func (n *nodes) serve() (*query.Service, *store.Store) {
	n.t.Helper()
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(n.server.QueryDSN)
	st := must.Get(store.New(cfg))(n.t)
	qc := query.Defaults()
	qc.CursorKey = "0123456789abcdef0123456789abcdef"
	qc.ScanGuardMaxHours, qc.ScanGuardMaxPairs = 1000, 1 // so that pairs are counted
	service := must.Get(query.New(qc, st, func() time.Time { return n.now }))(n.t)
	return service, st
}

// nodeReads are the reads of a caller, by name.
var nodeReads = map[string]func(*nodes, *query.Service, query.Principal) (any, error){
	"sites": func(n *nodes, s *query.Service, p query.Principal) (any, error) {
		return s.Sites(n.t.Context(), p, query.SitesRequest{})
	},
	"items": func(n *nodes, s *query.Service, p query.Principal) (any, error) {
		return s.Items(n.t.Context(), p, query.ItemsRequest{})
	},
	"orders": func(n *nodes, s *query.Service, p query.Principal) (any, error) {
		return s.Orders(n.t.Context(), p, query.OrdersRequest{IncludeMonitoring: true})
	},
	"latest of a product": rowsRead(query.ResultsRequest{ItemID: 3, LatestPerPair: true}),
	"latest of a site": rowsRead(query.ResultsRequest{Site: siteKey(1), LatestObservationPerPair: true, Include: query.Include{
		ExportFields: true, Identity: true, OrderIDs: true,
	}}),
	"page of a product": rowsRead(query.ResultsRequest{ItemID: 5, Limit: ptrTo(5)}),
	"page of a site":    rowsRead(query.ResultsRequest{Site: siteKey(2), Limit: ptrTo(20)}),
	"page of all":       rowsRead(query.ResultsRequest{Limit: ptrTo(30), Sort: "asc"}),
}

func ptrTo[T any](v T) *T { return &v }

func rowsRead(r query.ResultsRequest) func(*nodes, *query.Service, query.Principal) (any, error) {
	return func(n *nodes, s *query.Service, p query.Principal) (any, error) {
		page, err := s.Results(n.t.Context(), p, r)
		if err != nil {
			return nil, err
		}
		defer page.Rows.Release()
		return []any{json.RawMessage("[" + string(bytes.Clone(page.Rows.JSON())) + "]"), page.Paging.NextCursor != ""}, nil
	}
}

func (n *nodes) ask(s *query.Service, a request) string {
	n.t.Helper()
	v, err := nodeReads[a.what](n, s, query.Principal{Account: a.caller})
	if err != nil {
		return "refused: " + err.Error()
	}
	text := must.Get(json.Marshal(v))(n.t)
	return string(text)
}

// fresh returns the answer of a node that was just started.
func (n *nodes) fresh(a request) string {
	n.t.Helper()
	s, st := n.serve()
	defer st.Close()
	return n.ask(s, a)
}

const nodeCallers = 4

// compare sends the same read to an old and to a new node. During a step of the
// projector, the old node's answer may be from any moment since the step began,
// but must be one that some new node gave.
func (n *nodes) compare(during bool) {
	n.t.Helper()
	a := n.requests[n.rnd.IntN(len(n.requests))]
	before := n.fresh(a)
	got := n.ask(n.old[n.rnd.IntN(len(n.old))], a)
	allowed := []string{before}
	if during {
		n.during++
		n.past[a] = append(n.past[a], before)
		allowed = n.past[a]
	}
	if slices.Contains(allowed, got) {
		return
	}
	if after := n.fresh(a); got != after {
		n.t.Errorf("%s of account %d, beside a step: %t\nremembered:\n%.1500s\nfresh:\n%.1500s", a.what, a.caller, during, got, after)
	}
}

// begin chooses the reads to compare during a step, and records their answers
// before it.
func (n *nodes) begin() {
	names := slices.Sorted(maps.Keys(nodeReads))
	n.requests, n.past = nil, map[request][]string{}
	for range 4 {
		a := request{names[n.rnd.IntN(len(names))], contracts.AccountID(1 + n.rnd.IntN(nodeCallers))}
		n.requests, n.past[a] = append(n.requests, a), []string{n.fresh(a)}
		for _, s := range n.old {
			n.ask(s, a)
		}
	}
}

// watch turns comparisons between the projector's statements on or off.
func (n *nodes) watch(on bool) {
	if !on {
		n.conn.hook(nil)
		return
	}
	var mu sync.Mutex // the tables of a batch are written at the same time
	n.conn.hook(func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if n.rnd.IntN(3) == 0 {
			n.compare(true)
		}
		return nil
	})
}

func nodeAccount(id uint64, r *rand.Rand) *contracts.Account {
	a := &contracts.Account{
		AccountID: contracts.AccountID(id), MandateID: contracts.MandateID(1 + id%3), LoginIdentifier: fmt.Sprintf("u%d@example.com", id), PasswordHash: "h",
		Permissions: contracts.Permissions(), Disabled: r.IntN(5) == 0,
		Scope: contracts.AccountScope{AllOrders: r.IntN(3) > 0, AllSites: r.IntN(3) > 0},
	}
	if !a.Scope.AllOrders {
		a.Scope.Orders = []contracts.OrderID{contracts.OrderID(uint64(a.MandateID)*10 + r.Uint64N(3))}
	}
	if !a.Scope.AllSites {
		a.Scope.Sites = []contracts.SiteKey{siteKey(1), siteKey(r.IntN(worldSites))}
	}
	return a
}

func newNodes(t *testing.T, seed uint64) *nodes {
	w := newWorld(t)
	w.cfg.KeepScopes = 10 * time.Minute
	w.rnd = newRand(seed)
	w.restart()
	n := &nodes{world: w, now: start.Add(50 * time.Second)}
	for i := range n.old {
		var st *store.Store
		n.old[i], st = n.serve()
		t.Cleanup(func() { _ = st.Close() })
	}
	var records []event.Payload
	for i := range worldSites {
		records = append(records, &contracts.Site{Site: siteKey(i), Name: fmt.Sprint("shop ", i), CountryCode: "DE", CurrencyCode: "EUR"})
	}
	for i := range worldItems {
		records = append(records, &contracts.Item{ItemID: contracts.ItemID(1 + i), Name: fmt.Sprint("item ", i)})
	}
	for m := range uint64(3) {
		records = append(records, mandate(1+m, worldItems), order(1+m, 10*(1+m), true, 0, []int{1, 2, 3, 4, 5, 6}, []int{0, 1, 2}))
	}
	for id := range uint64(nodeCallers) {
		a := nodeAccount(1+id, w.rnd)
		a.Disabled = false
		records = append(records, a)
	}
	n.apply(n.catalog(records...))
	n.apply(n.observations(30))
	return n
}

// kindsOfSteps is the number of kinds of steps.
const kindsOfSteps = 5

// step changes something, as streams, projectors and their leaders do.
func (n *nodes) step(kind int) {
	n.t.Helper()
	switch kind {
	case 0:
		n.apply(n.observations(1 + n.rnd.IntN(8))) // captures are late as often as not
	case 1:
		n.apply(n.catalog(randomChange(n.rnd)))
	case 2:
		n.apply(n.catalog(nodeAccount(1+n.rnd.Uint64N(nodeCallers), n.rnd)))
	case 3:
		n.apply(n.catalog(&contracts.Site{Site: siteKey(n.rnd.IntN(worldSites)), Name: fmt.Sprint("shop ", n.rnd.IntN(1000)), CountryCode: "DE", CurrencyCode: "EUR"}))
	case 4:
		n.watch(false)
		n.restart()
		n.watch(true)
		must.Do(n.t, n.p.Maintain(n.t.Context()))
	}
	n.now = n.now.Add(time.Duration(n.rnd.IntN(3000)) * time.Millisecond)
}

// TestNodesRememberWhatIsTrue draws histories of events, late rows, grants,
// revocations and new leaders. Between steps, two nodes that remember answer
// like one that was just started, and during each statement of the projector
// they return nothing that such a node did not return since the change began
// (VIS-05, AUTH-08).
func TestNodesRememberWhatIsTrue(t *testing.T) {
	n := newNodes(t, 3)
	var kinds []int
	for i := range effort.Often(kindsOfSteps, 2*kindsOfSteps) {
		if len(kinds) == 0 {
			kinds = n.rnd.Perm(kindsOfSteps)
		}
		if t.Failed() {
			t.Fatalf("at step %d", i)
		}
		n.begin()
		n.watch(true)
		n.step(kinds[0])
		kinds = kinds[1:]
		n.watch(false)
		for range effort.Often(2, 3) {
			n.compare(false)
		}
	}
	n.settle()
	for range effort.Often(4, 8) {
		n.compare(false)
	}
	var hits uint64
	for _, s := range n.old {
		hits += s.Stats().Remembered.Hits
	}
	if hits == 0 || n.during == 0 {
		t.Errorf("%d answers were remembered, %d compared beside a step: this shows nothing", hits, n.during)
	}
	t.Logf("%d answers remembered, %d compared beside the projector's statements", hits, n.during)
}

// TestReadersAreToldBeforeABackfill: before rows of granted pairs are copied,
// readers are notified that the scope in force is about to change, and before
// rows are deleted, that it has changed: otherwise what they remember would
// miss or show those rows.
func TestReadersAreToldBeforeABackfill(t *testing.T) {
	w := newWorld(t)
	w.apply(w.catalog(mandate(1, worldItems), order(1, 11, true, 0, []int{1, 2}, []int{0})))
	w.apply(w.observations(20))
	inForce := func() (seq uint64) {
		w.scan("SELECT max(seq) FROM checkpoints WHERE stream = 'IN_FORCE'", nil, &seq)
		return seq
	}
	for _, c := range []struct {
		change, then string // statements
		items        []int
	}{{"scopes_applied", "backfill", []int{1, 2, 3, 4}}, {"scopes", "delete", []int{1}}} {
		told, seen := uint64(0), 0
		w.conn.hook(func(id string) error {
			switch {
			case what(id) == c.change && seen == 0:
				told = inForce()
			case what(id) == c.then:
				if seen++; told == 0 || inForce() <= told {
					t.Errorf("readers are not told between %s and %s", c.change, c.then)
				}
			}
			return nil
		})
		w.apply(w.catalog(order(1, 11, true, 0, c.items, []int{0})))
		w.settle()
		w.conn.hook(nil)
		if seen == 0 {
			t.Errorf("there was no %s: this shows nothing", c.then)
		}
	}
}
