package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"time"
)

// measureMemory streams many rows in each form, and watches the resident memory
// of the query service.
func (r *run) measureMemory(ctx context.Context) {
	if _, peak, err := resident(r.world.nodes[r.world.database].pid()); err == nil {
		r.put("query_peak_rss_mib", "query process, greatest resident memory during all reads so far", "MiB", exactly(peak), 0, true, "")
	}
	most := map[string]float64{}
	var note string
	for _, f := range append([]tableForm{{name: "NDJSON"}}, tableForms...) {
		peak, streamed := r.memoryOf(ctx, f)
		most[f.key], note = max(most[f.key], peak), streamed
	}
	r.put("stream_peak_rss_mib", "query process, greatest resident memory while streaming "+note, "MiB", exactly(most[""]), 200, true, "")
	for _, key := range tableKeys {
		r.put("stream_"+key+"_peak_rss_mib", "the same as "+key+", the larger where there are several", "MiB", exactly(most[key]), 200, true, "")
	}
}

// memoryOf streams from a fresh query service in one form, and returns its
// greatest resident memory in MiB, and how many rows it streamed.
func (r *run) memoryOf(ctx context.Context, f tableForm) (peak float64, note string) {
	if r.err != nil {
		return 0, ""
	}
	_ = r.world.nodes[r.world.database].stop()
	delete(r.world.nodes, r.world.database)
	if r.serve(ctx, r.world.database); r.err != nil {
		return 0, ""
	}
	var d done
	samples, _, peak := r.watchResident(ctx, r.world.nodes[r.world.database], func() {
		d = r.streams(1, r.exported(r.data.starts[r.size.memoryRows]), as(f.accept))(ctx)
	})
	if r.err != nil {
		r.err = fmt.Errorf("%s: %w", f.name, r.err)
	}
	note = grouped(d.rows) + " rows"
	if d.rows < 9_000_000 {
		note += ", all that the largest mandate has in 168 h here"
	}
	r.curve("Memory of the query process while it streams "+note+" as "+f.name, "s", "MiB", false, samples)
	return peak, note
}

// watchResident samples the resident memory of a process while something is done,
// and returns it afterwards, and at its peak.
func (r *run) watchResident(ctx context.Context, n *node, do func()) (samples Line, after, peak float64) {
	samples.Name = "resident, MiB"
	began := time.Now()
	watching, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for pause(watching, 100*time.Millisecond) == nil {
			if now, _, err := resident(n.pid()); err == nil {
				samples.Points = append(samples.Points, Point{X: time.Since(began).Seconds(), Y: now, Low: now, High: now})
			}
		}
	})
	do()
	cancel()
	group.Wait()
	after, peak, err := resident(n.pid())
	r.failed(err)
	return samples, after, peak
}

// resident returns the resident memory of a process in MiB, now and at its peak.
func resident(pid int) (now, peak float64, err error) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	now, peak = procMiB(status, "VmRSS"), procMiB(status, "VmHWM")
	if peak == 0 {
		return 0, 0, errors.New("this system does not tell")
	}
	return now, peak, nil
}

// measureReady starts `preismon up` on the filled folder several times.
func (r *run) measureReady(ctx context.Context) {
	if r.ClickHouse != "" {
		r.result.miss("time to ready: the servers were given")
		return
	}
	folder := r.world.dir.Path
	r.failed(r.world.stop())
	series := r.compare(ctx, r.table("Time to ready", ""), 1, 3, contestant{"preismon up on the filled folder", func(ctx context.Context) (d done) {
		began := time.Now()
		r.up(ctx, folder, func(*node) { d.took = time.Since(began) })
		return d
	}})
	r.put("ready_seconds_warm", "`preismon up` on the filled folder until everything can be queried", "s", series[0].all(), 3, true, "")
}

// profileNode records 20 s of CPU profile of the query service; stop waits for
// its end. The admin surface profiles for a fixed time, given in the request.
func (r *run) profileNode(ctx context.Context, name string) (stop func()) {
	if r.Profiles == "" {
		return func() {}
	}
	var group sync.WaitGroup
	group.Go(func() {
		admin := request{base: r.world.nodes[r.world.database].admin, path: "/debug/pprof/profile", query: url.Values{"seconds": {"20"}}}
		if resp, err := r.reply(ctx, admin); err == nil {
			profile, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			_ = os.WriteFile(r.profile(name), profile, 0o644)
		}
	})
	return group.Wait
}

// profileSelf records a CPU profile of this process until it is stopped.
func (r *run) profileSelf(name string) (stop func()) {
	if r.Profiles == "" {
		return func() {}
	}
	f, err := os.Create(r.profile(name))
	if !r.failed(err) {
		r.failed(pprof.StartCPUProfile(f))
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}
}

func (r *run) profile(name string) string { return filepath.Join(r.Profiles, name+".pprof") }
