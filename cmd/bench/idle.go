package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// idleSettles is how long a demo gets to merge its history.
const idleSettles = time.Minute

// measureIdle measures the processor time of a live demo that nobody reads.
func (r *run) measureIdle(ctx context.Context) {
	share := 0.0
	r.up(ctx, r.folder, func(n *node) { share = r.idleShare(ctx, n.pid()) }, "--demo")
	if share == 0 && r.err == nil {
		r.result.miss("an idle demo: this system does not tell the processor time of processes")
		return
	}
	r.put("idle_demo_cpu_share", fmt.Sprintf("`preismon up --demo` that nobody reads: share of a core, over %.0f s", r.size.quiet.Seconds()), "", exactly(share), 0.05, true, "")
}

// idleShare returns how much of a core a process and those that it started take.
func (r *run) idleShare(ctx context.Context, pid int) float64 {
	r.failed(pause(ctx, idleSettles))
	before, began := treeTime(pid), time.Now()
	r.failed(pause(ctx, r.size.quiet))
	return (treeTime(pid) - before) / time.Since(began).Seconds()
}

// treeTime returns the user and system time of a process and its descendants in
// seconds.
func treeTime(pid int) float64 {
	sum := processorTime(pid)
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range all {
		child, _ := strconv.Atoi(filepath.Base(name))
		if fields := procStat(child); len(fields) > 1 && fields[1] == strconv.Itoa(pid) { // otherwise it has ended, or is another's
			sum += treeTime(child)
		}
	}
	return sum
}
