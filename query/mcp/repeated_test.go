package mcp_test

import (
	"slices"
	"sync"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/store"
)

// TestRepeatedToolCallCostsNoStatement: while nothing is written, a tool that is called
// again runs no statement, apart from the one that looks for a new moment. Tools
// that still run some are listed with them: a statement more or fewer fails.
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
	runs := map[string][]string{
		"get_order_detail":               {"order_pairs"},
		"list_order_observation_quality": {"order_pairs"},
	}
	called := map[string]bool{}
	for _, q := range d.questionsOfSpeed() {
		switch q.tool {
		case "list_result_changes", "get_market_price_position": // these read up to 100,000 pairs
			continue
		}
		if limit, limited := q.arguments["limit"].(int); q.tool == "list_results" && (!limited || limit > 100) {
			continue // more rows than are remembered
		}
		a := d.agents.agent(d.account)
		a.call(q.tool, q.arguments).ok()
		first := take()
		a.call(q.tool, q.arguments).ok()
		equals.Checkf(t, runs[q.tool], take(), "%s with %v, again; at first %v", q.tool, q.arguments, first)
		called[q.tool] = true
	}
	if len(called) < 11 {
		t.Errorf("only %d tools were called: %v", len(called), called)
	}
}
