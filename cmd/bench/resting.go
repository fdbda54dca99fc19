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
func (r *run) measureResident(ctx context.Context) error {
	const name = "resident"
	if err := r.world.serveAs(ctx, name, r.world.database); err != nil {
		return err
	}
	pid := r.world.nodes[name].cmd.Process.Pid
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	rest, _, err := resident(pid)
	if err != nil {
		r.result.Missing = append(r.result.Missing, "memory of a node at rest and under load: "+err.Error())
		return nil
	}
	watched := watchResident(ctx, pid)
	err = r.load(ctx, name)
	if err == nil {
		err = pause(ctx, afterward)
	}
	samples := watched()
	if err != nil {
		return err
	}
	after, peak, err := resident(pid)
	if err != nil {
		return err
	}
	r.result.Growth = append(r.result.Growth, Curve{Title: fmt.Sprintf("Memory of a query process under %d dashboards, and after", r.size.dashboards), X: "s", Y: "MiB", Lines: []Line{samples}})
	r.result.put("node_rest_rss_mib", "query process with the default flags, resident memory at rest", "MiB", exactly(rest), restingMost, true, "")
	r.result.put("node_dashboards_rss_mib", "the same, at most under 64 dashboards", "MiB", exactly(peak), loadedMost, true, "")
	r.result.put("node_after_rss_mib", fmt.Sprintf("the same, %.0f s after the last of them", afterward.Seconds()), "MiB", exactly(after), afterwardMost, true, "")
	return nil
}

// load streams the last day of many mandates at once from a node, again and
// again, so that it remembers what it may.
func (r *run) load(ctx context.Context, node string) error {
	from := r.data.to.Add(-24 * time.Hour)
	var firsts []float64
	all := r.dashboards(func(ctx context.Context, mandate uint64) (done, error) {
		return r.stream(ctx, node, mandate, r.exported(from), nil)
	}, &firsts)
	for range max(3, r.size.streamRounds) {
		if _, err := all(ctx); err != nil {
			return err
		}
	}
	return nil
}
