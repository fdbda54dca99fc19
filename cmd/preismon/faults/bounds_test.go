package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
)

// bounds is what each process may use at any moment, whatever breaks (I9):
// memory in bytes, goroutines or threads, and open files. On a quiet machine
// they use at most half of it.
var bounds = map[string]usage{
	"projector":  {memory: 400 << 20, threads: 300, files: 150},
	"query":      {memory: 500 << 20, threads: 600, files: 300},
	"clickhouse": {memory: 3 << 30, threads: 900, files: 3000},
	"nats":       {memory: 600 << 20, threads: 300, files: 300},
}

// maxParts is the maximum number of active parts of a table.
const maxParts = 150

type usage struct{ memory, threads, files float64 }

func (u usage) String() string {
	return fmt.Sprintf("%.0f MiB, %.0f threads or goroutines, %.0f files", u.memory/(1<<20), u.threads, u.files)
}

func (u usage) with(o usage) usage {
	return usage{max(u.memory, o.memory), max(u.threads, o.threads), max(u.files, o.files)}
}

// sampler samples all processes each second.
type sampler struct {
	mu    sync.Mutex
	most  map[string]usage
	parts float64 // of one table, the maximum
}

// sample samples until ctx ends.
func (w *world) sample(ctx context.Context) {
	for ctx.Err() == nil {
		w.look(ctx)
		time.Sleep(time.Second)
	}
}

// within compares what a process uses with its bounds.
func within(name string, u usage) error {
	if b := bounds[name]; u.memory > b.memory || u.threads > b.threads || u.files > b.files {
		return wrong("I9", "%s takes %s; the bounds are %s", name, u, b)
	}
	return nil
}

func (w *world) look(ctx context.Context) {
	see := func(name string, u usage) {
		w.usage.mu.Lock()
		defer w.usage.mu.Unlock()
		w.usage.most[name] = w.usage.most[name].with(u)
		if err := within(name, u); err != nil {
			w.finding(err)
		}
	}
	for _, r := range []*process.Role{w.projectors[0], w.projectors[1], w.query} {
		if u, ok := roleUsage(r); ok {
			see(r.Args[0], u)
		}
	}
	w.mu.Lock()
	pids := map[string]int{"clickhouse": w.clickhouse.PID()}
	if w.cluster == nil {
		pids["nats"] = w.nats.Process().Pid
	}
	w.mu.Unlock()
	for name, pid := range pids {
		if u, err := processUsage(pid); err == nil {
			see(name, u)
		}
	}
	var parts float64
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	err := w.db().QueryRowContext(ctx, "SELECT toFloat64(max(n)) FROM (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table)").Scan(&parts)
	if err != nil {
		return
	}
	w.usage.mu.Lock()
	w.usage.parts = max(w.usage.parts, parts)
	w.usage.mu.Unlock()
	if parts > maxParts {
		w.finding(wrong("I9", "a table of %.0f parts", parts))
	}
}

// report prints the maxima that were seen.
func (s *sampler) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.most)) {
		fmt.Printf("bounds process=%s at most %s\n", name, s.most[name])
	}
	fmt.Printf("bounds parts=%.0f of one table at most\n", s.parts)
}

// roleUsage is what a role reports about itself.
func roleUsage(r *process.Role) (u usage, ok bool) {
	if r == nil {
		return u, false
	}
	m := r.Metrics()
	return usage{m["process_resident_memory_bytes"], m["go_goroutines"], m["process_open_fds"]}, m != nil
}

// processUsage is what the operating system reports about a process.
func processUsage(pid int) (u usage, err error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		number, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		v, _ := strconv.ParseFloat(strings.TrimSpace(number), 64)
		switch name {
		case "VmRSS":
			u.memory = v * 1024
		case "Threads":
			u.threads = v
		}
	}
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	u.files = float64(len(files))
	return u, err
}

// limitFaults take resources from the leading projector.
var limitFaults = []fault{
	{name: "projector-out-of-files", core: true, do: func(w *world, _ *rand.Rand) error {
		leader, standby, err := w.leader()
		if err != nil {
			return err
		}
		back, err := limit(leader.PID(), openFiles, 3)
		if err != nil {
			return notHere(w, leader, err)
		}
		defer back()
		w.projectorTables.Reset() // it needs new connections, and cannot open any
		w.projectorStreams.Reset()
		return must.Until(patience, "the standby leads", standby.Leads)
	}},
	{name: "projector-out-of-memory", do: func(w *world, rnd *rand.Rand) error {
		leader, _, err := w.leader()
		if err != nil {
			return err
		}
		ended := leader.Ended()
		if _, err := limit(leader.PID(), addressSpace, 1<<20); err != nil {
			return notHere(w, leader, err)
		}
		w.producer.burst.Store(200)
		defer w.producer.burst.Store(usual)
		select {
		case <-ended:
		case <-time.After(patience):
			leader.Kill()
			return errors.Join(errors.New("it lives on without memory"), restart(leader))
		}
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		return restart(leader)
	}},
}

// notHere reports that limits cannot be set here, and kills the process
// instead.
func notHere(w *world, r *process.Role, err error) error {
	fmt.Printf("NOTE: the limits of another process cannot be set here (%v): it is killed instead\n", err)
	r.Kill()
	return restart(r)
}
