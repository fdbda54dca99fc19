package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// idleSettles is how long a demo gets to merge its history.
const idleSettles = time.Minute

// measureIdle measures the processor time of a live demo that nobody reads.
func (r *run) measureIdle(ctx context.Context) {
	up, err := r.world.up(ctx, r.folder, "--demo")
	if r.failed(err) {
		return
	}
	share, err := idleShare(ctx, up.pid(), r.size.quiet)
	if r.failed(errors.Join(err, up.stop())) {
		return
	}
	if share == 0 {
		r.result.miss("an idle demo: this system does not tell the processor time of processes")
		return
	}
	r.put("idle_demo_cpu_share", fmt.Sprintf("`preismon up --demo` that nobody reads: share of a core, over %.0f s", r.size.quiet.Seconds()), "", exactly(share), 0.05, true, "")
}

// idleShare returns how much of a core a process and those that it started take.
func idleShare(ctx context.Context, pid int, over time.Duration) (float64, error) {
	if err := pause(ctx, idleSettles); err != nil {
		return 0, err
	}
	before, began := treeTime(pid), time.Now()
	if err := pause(ctx, over); err != nil {
		return 0, err
	}
	return (treeTime(pid) - before) / time.Since(began).Seconds(), nil
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
