package main

import (
	"context"
	"fmt"
	"sync"
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
	samples := Line{Name: "resident, MiB"}
	began := time.Now()
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for pause(watching, 100*time.Millisecond) == nil {
			if now, _, err := resident(pid); err == nil {
				samples.Points = append(samples.Points, Point{X: time.Since(began).Seconds(), Y: now, Low: now, High: now})
			}
		}
	})
	err = r.load(ctx, name)
	if err == nil {
		err = pause(ctx, afterward)
	}
	stop()
	group.Wait()
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
		began := time.Now()
		resp, err := r.get(ctx, node, mandate, "/v1/results/stream", window(from, r.data.to, "globalScope", "true", "includeExportFields", "true"))
		if err != nil {
			return done{}, err
		}
		return streamed(resp, began)
	}, &firsts)
	for range max(3, r.size.streamRounds) {
		if _, err := all(ctx); err != nil {
			return err
		}
	}
	return nil
}
