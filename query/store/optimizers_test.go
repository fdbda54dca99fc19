package store_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"preismon/query"
	"preismon/query/store"

	"github.com/google/go-cmp/cmp"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// switched are groups of ClickHouse's optimizers that affect statements like
// ours; each group is switched off or on together.
// use_skip_indexes_if_final_exact_mode is not among them: it makes skip indexes
// correct under FINAL, and without it old versions of records come back by
// design.
var switched = map[string]map[string]string{
	"off: plan": off("query_plan_enable_optimizations"),
	"off: reading in order": off("optimize_read_in_order", "query_plan_read_in_order", "optimize_limit_by_in_order", "optimize_distinct_in_order",
		"read_in_order_use_buffering", "optimize_sorting_by_input_stream_properties"),
	"off: prewhere": off("optimize_move_to_prewhere", "query_plan_optimize_prewhere", "move_all_conditions_to_prewhere", "enable_multiple_prewhere_read_steps"),
	"off: indexes": off("use_skip_indexes", "use_skip_indexes_if_final", "use_skip_indexes_on_data_read", "use_skip_indexes_for_top_k",
		"use_index_for_in_with_subqueries", "use_statistics_for_part_pruning", "query_plan_optimize_primary_key"),
	"off: late columns": off("query_plan_optimize_lazy_materialization", "query_plan_remove_unused_columns", "use_top_k_dynamic_filtering"),
	"off: moving steps": off("query_plan_filter_push_down", "query_plan_push_down_limit", "query_plan_push_limit_by_into_sort", "query_plan_split_filter",
		"query_plan_execute_functions_after_sorting", "query_plan_lift_up_array_join", "query_plan_lift_up_union", "query_plan_remove_redundant_sorting"),
	"on: virtual rows":                {"read_in_order_use_virtual_row": "1", "read_in_order_use_virtual_row_per_block": "1", "max_block_size": "64", "max_threads": "4"},
	"on: late columns of every limit": {"query_plan_max_limit_for_lazy_materialization": "0"},
	"on: late columns, unbuffered":    {"query_plan_max_limit_for_lazy_materialization": "100000", "read_in_order_use_buffering": "0"},
	"one thread":                      {"max_threads": "1"},
	"four threads":                    {"max_threads": "4"},
}

func off(names ...string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		all[name] = "0"
	}
	return all
}

// family reports whether a setting is one of an optimizer, or of the cache of
// unpacked blocks, by its name, so that the optimizers of other versions of
// ClickHouse are switched too, all of them together.
func family(name string) bool {
	for _, prefix := range []string{"query_plan_", "optimize_", "use_skip_indexes", "use_top_k_", "use_statistics", "use_index_for_", "compile_", "read_in_order_", "use_uncompressed_cache"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.Contains(name, "display") && !strings.Contains(name, "throw") && !strings.Contains(name, "on_insert")
		}
	}
	return false
}

// TestOptimizersChangeNothing runs every read with ClickHouse's optimizers at
// their defaults and with all of them off, and a part of the reads, in
// rotation, with each group of them switched: the rows and their order are the
// same. Its data has ties, several parts that are never merged, and several
// versions of records in tables whose engine replaces. RES-05c, RES-14a.
func TestOptimizersChangeNothing(t *testing.T) {
	effort.Full(t, "every question under a hundred settings")
	w := newWorld(t, 31, 0)
	unmerged(w)
	cfg := w.cfg
	cfg.SliceRows = 300
	known := switches(w)
	variants := maps.Clone(switched)
	variants["all off"] = map[string]string{}
	for name, on := range known {
		if on && family(name) {
			variants["all off"][name] = "0"
		}
	}
	if n := len(variants["all off"]); n < 60 {
		t.Errorf("only %d optimizers are known", n)
	}
	catalogueRows(w)
	reads := readsOf(w, 7)
	names := someOf(reads, 2)
	methods := reflect.TypeFor[query.Store]()
	for i := range methods.NumMethod() {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, methods.Method(i).Name+":") }) {
			t.Errorf("%s is not asked", methods.Method(i).Name)
		}
	}
	want := map[string][]string{}
	plain := store.WithSettings(t, cfg, nil)
	rows, changes := 0, 0
	for _, name := range names {
		got, err := reads[name](t.Context(), plain)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want[name] = got
		if rows += len(got); strings.HasPrefix(name, "Feed:") {
			changes += len(got)
		}
	}
	if rows < 5_000 || changes < 500 {
		t.Errorf("the questions give %d rows, those of the feed %d: too few to tell anything", rows, changes)
	}
	for v, variant := range slices.Sorted(maps.Keys(variants)) {
		t.Run(variant, func(t *testing.T) {
			s := store.WithSettings(t, cfg, variants[variant])
			for i, name := range names {
				if variant != "all off" && (i+v)%(2*len(variants)) != 0 {
					continue
				}
				got, err := reads[name](t.Context(), s)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if diff := cmp.Diff(want[name], got); diff != "" {
					t.Errorf("%s (-as it comes +switched):\n%s", name, diff)
				}
			}
		})
	}
	// The settings reached the server with each statement.
	w.exec("SYSTEM FLUSH LOGS query_log")
	var n uint64
	must.Do(t, w.conn.QueryRow(t.Context(), `
SELECT count()
FROM system.query_log
WHERE type = 'QueryFinish' AND current_database = currentDatabase() AND Settings['query_plan_enable_optimizations'] = '0' AND Settings['optimize_read_in_order'] = '0' AND Settings['use_skip_indexes'] = '0'`).Scan(&n))
	if n < uint64(len(names)) {
		t.Errorf("%d statements had all optimizers off, of %d questions", n, len(names))
	}
}

// unmerged fills the tables in many parts that are never merged.
func unmerged(w *world) {
	w.t.Helper()
	tables := []string{
		"observations", "observations_by_mandate", "latest_observations", "items", "sites", "accounts", "reference_prices", "customer_data",
		"scopes", "scopes_applied", "scope_pairs", "checkpoints",
	}
	for _, table := range tables {
		w.exec("SYSTEM STOP MERGES " + table)
	}
	r := rand.New(rand.NewPCG(31, 2))
	for range 6 {
		w.insert(r, 500, 0)
	}
	w.setMark(w.mark / 2)
	w.insert(r, 300, 0) // beyond the watermark: newest captures that must not be seen
	w.setMark(w.mark - 60)
	for version := 2; version <= 4; version++ {
		for i := 1; i <= 6; i++ {
			w.exec(fmt.Sprintf("INSERT INTO items VALUES (%d, '%d', '', '', '', 'Item %d of version %d', 'Brand %d', 'Maker', %d)", i, 96385074+i%2, i, version, (i+version)%3, version))
			w.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (1, %d, [(%d, 'EUR', '', '', 'RRP')], %d)", i, 100*version+i, version))
			w.exec(fmt.Sprintf("INSERT INTO customer_data VALUES (1, %d, 'Category %d', {'v': '%d'}, %d)", i, i%2, version, version))
		}
		w.exec(fmt.Sprintf("INSERT INTO sites VALUES ('alpha.example', 'Site of version %d', 'shop', 'DE', 'EUR', '', false, true, %d)", version, version))
		w.exec(fmt.Sprintf("INSERT INTO accounts VALUES (11, 1, 'renamed%d', 'h', false, false, ['results'], true, [], true, [], %d)", version, version))
	}
	for _, table := range []string{"observations", "observations_by_mandate", "latest_observations", "items", "reference_prices"} {
		var parts uint64
		must.Do(w.t, w.conn.QueryRow(context.Background(), "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = ?", table).Scan(&parts))
		if parts < 6 {
			w.t.Errorf("%s has %d parts: nothing is merged in a read", table, parts)
		}
	}
	var doubled int64
	must.Do(w.t, w.conn.QueryRow(context.Background(), "SELECT count() - uniqExact(item, site) FROM latest_observations").Scan(&doubled))
	if doubled == 0 {
		w.t.Error("no pair has two rows of latest_observations")
	}
}

// switches returns the switches of the server's planner, and whether they are
// on.
func switches(w *world) map[string]bool {
	w.t.Helper()
	rows := must.Get(w.conn.Query(context.Background(), "SELECT name, value = '1' FROM system.settings WHERE type = 'Bool' AND NOT is_obsolete AND readonly = 0"))(w.t)
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		var name string
		var on bool
		must.Do(w.t, rows.Scan(&name, &on))
		all[name] = on
	}
	must.Do(w.t, rows.Err())
	return all
}
