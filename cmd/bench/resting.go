package main

import (
	"context"
	"fmt"
	"time"
)

// How much a node with the default flags may have resident, in MiB. At rest: the
// program, and the heap of --memory-goal. Under load: what the documentation says
// to give a node. After it: the heap of the goal and of full caches, and the
// program.
const (
	restingMost   = 192
	loadedMost    = 768
	afterwardMost = 400

	afterward = 15 * time.Second
)

// measureResident watches the resident memory of a fresh query service with the
// default flags: before any read, while many dashboards stream, and a while
// after the last of them.
func (r *run) measureResident(ctx context.Context) {
	const name = "resident"
	r.serveAs(ctx, name, r.world.database)
	if r.failed(pause(ctx, time.Second)) {
		return
	}
	n := r.world.nodes[name]
	rest, _, err := resident(n.pid())
	if err != nil {
		r.result.miss("memory of a node at rest and under load: " + err.Error())
		return
	}
	samples, after, peak := r.watchResident(ctx, n, func() {
		all := r.dashboards(func(mandate uint64) task {
			return func(ctx context.Context) done {
				return r.stream(ctx, name, mandate, r.exported(r.lastDay(mandate).from), nil)
			}
		}, new([]float64))
		for range max(3, r.size.streamRounds) { // again and again, so that it remembers what it may
			all(ctx)
		}
		r.failed(pause(ctx, afterward))
	})
	r.curve(fmt.Sprintf("Memory of a query process under %d dashboards, and after", dashboards), "s", "MiB", false, samples)
	r.put("node_rest_rss_mib", "query process with the default flags, resident memory at rest", "MiB", exactly(rest), restingMost, true, "")
	r.put("node_dashboards_rss_mib", "the same, at most under 64 dashboards", "MiB", exactly(peak), loadedMost, true, "")
	r.put("node_after_rss_mib", fmt.Sprintf("the same, %.0f s after the last of them", afterward.Seconds()), "MiB", exactly(after), afterwardMost, true, "")
}
