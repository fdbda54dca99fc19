package mcp_test

import (
	"slices"
	"sync"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query/store"
)

// TestRepeatedToolCallCostsNoStatement: while nothing is written, a tool that is called
// again runs no statement, apart from the one that looks for a new moment.
func TestRepeatedToolCallCostsNoStatement(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret((*demoWorld.Get(t)).db.QueryDSN)
	cfg.OnStatement = func(a store.StatementEnded) {
		mu.Lock()
		defer mu.Unlock()
		if a.Statement != "moment" {
			asked = append(asked, a.Statement)
		}
	}
	take := func() (all []string) {
		mu.Lock()
		defer mu.Unlock()
		all, asked = asked, nil
		slices.Sort(all)
		return all
	}
	st := must.Get(store.New(cfg))(t)
	t.Cleanup(func() { st.Close() })
	d := newDemo(t, func(set *agentSettings) { set.store = st })
	called := map[string]bool{}
	for _, q := range d.questionsOfSpeed() {
		if limit, limited := q.arguments["limit"].(int); q.tool == "list_results" && (!limited || limit > 100) {
			continue // more rows than are remembered
		}
		a := d.agents.agent(d.account)
		a.call(q.tool, q.arguments).ok()
		first := take()
		a.call(q.tool, q.arguments).ok()
		if again := take(); len(again) > 0 {
			t.Errorf("%s with %v, again: %v; at first %v", q.tool, q.arguments, again, first)
		}
		called[q.tool] = true
	}
	if len(called) < 13 {
		t.Errorf("only %d tools were called: %v", len(called), called)
	}
}
