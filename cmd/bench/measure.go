package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// task does one thing once, and reports how much it did. Its error is the run's.
type task func(ctx context.Context) done

type contestant struct {
	name string
	do   task
}

// done is what a contestant did in one go. If took is zero, it is measured
// around the call.
type done struct {
	rows  int64
	bytes int64
	took  time.Duration
	first time.Duration // until the first byte of an answer
}

// Series are the rounds of one contestant.
type Series struct {
	Name    string    `json:"name"`
	Seconds []float64 `json:"seconds"`
	First   []float64 `json:"first,omitempty"` // until the first byte of an answer
	Rows    int64     `json:"rows,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	CPU     CPU       `json:"cpu"`
	Note    string    `json:"note,omitempty"`
}

// CPU is the processor time of a round in seconds, on average: in ClickHouse, in
// the query services, and in this process, which is the client and any
// contestant that runs in it.
type CPU struct {
	ClickHouse float64 `json:"clickHouse"`
	Query      float64 `json:"query"`
	Self       float64 `json:"self"`
}

func (c *CPU) add(after, before CPU) {
	c.ClickHouse += after.ClickHouse - before.ClickHouse
	c.Query += after.Query - before.Query
	c.Self += after.Self - before.Self
}

func (c *CPU) over(n int) {
	d := float64(max(1, n))
	c.ClickHouse, c.Query, c.Self = c.ClickHouse/d, c.Query/d, c.Self/d
}

// note says the processor times; empty if a round took too little to be measured
// in ticks.
func (c CPU) note() string {
	if c.ClickHouse+c.Query+c.Self < 0.1 {
		return ""
	}
	return fmt.Sprintf("CPU: ClickHouse %.2f s, query service %.2f s, here %.2f s", c.ClickHouse, c.Query, c.Self)
}

// cpu returns the processor time of the processes so far; 0 where the system
// does not report it.
func (w *world) cpu() (c CPU) {
	if w.ch != nil {
		c.ClickHouse = processorTime(w.ch.PID())
	}
	for _, n := range w.nodes {
		c.Query += processorTime(n.pid())
	}
	c.Self = processorTime(os.Getpid())
	return c
}

// processorTime returns the user and system time of a process in seconds.
func processorTime(pid int) float64 {
	fields := procStat(pid)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	const ticks = 100 // per second, on every Linux
	return (user + system) / ticks
}

// procStat returns what the kernel says of a process after its name, which may
// contain anything.
func procStat(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

// interleave lets the contestants take turns. The first one changes with each
// round, so that none always follows the same other.
func (r *run) interleave(ctx context.Context, warm, rounds int, all ...contestant) []Series {
	series := make([]Series, len(all))
	for i, c := range all {
		series[i].Name = c.name
	}
	if r.err != nil {
		return series
	}
	for round := range warm + rounds {
		for n := range all {
			i := (n + round) % len(all)
			runtime.GC() // so that no contestant collects another's garbage
			before, began := r.world.cpu(), time.Now()
			d := all[i].do(ctx)
			if r.err != nil {
				r.err = fmt.Errorf("%s: %w", all[i].name, r.err)
				return series
			}
			if d.took == 0 {
				d.took = time.Since(began)
			}
			if round >= warm {
				s := &series[i]
				s.Seconds = append(s.Seconds, d.took.Seconds())
				if d.first > 0 {
					s.First = append(s.First, d.first.Seconds())
				}
				s.Rows, s.Bytes = d.rows, d.bytes
				s.CPU.add(r.world.cpu(), before)
			}
		}
	}
	for i := range series {
		series[i].CPU.over(rounds)
	}
	return series
}

// compare interleaves contestants, whose rounds become a part of a table.
func (r *run) compare(ctx context.Context, t *Table, warm, rounds int, all ...contestant) []Series {
	series := r.interleave(ctx, warm, rounds, all...)
	if r.err == nil {
		t.Series = append(t.Series, series...)
	}
	return series
}

// compareWork is compare that also finds what the statements have cost. That of
// a single contestant is named after it.
func (r *run) compareWork(ctx context.Context, t *Table, database, like string, warm, rounds int, all ...contestant) []Series {
	since := time.Now()
	series := r.compare(ctx, t, warm, rounds, all...)
	name := ""
	if len(all) == 1 {
		name = all[0].name
	}
	r.addWork(ctx, t, name, database, like, since)
	return series
}

// addWork adds to a table what statements have cost since a moment, under a name
// or those of their clients.
func (r *run) addWork(ctx context.Context, t *Table, name, database, like string, since time.Time) {
	for _, w := range r.work(ctx, database, since, like) {
		w.Name = cmp.Or(name, w.Name)
		t.Work = append(t.Work, w)
	}
}

// Median returns the median of the rounds.
func (s Series) Median() float64 { return quantile(s.Seconds, 0.5) }

// Least and Greatest return the shortest and the longest of the rounds.
func (s Series) Least() float64    { return quantile(s.Seconds, 0) }
func (s Series) Greatest() float64 { return quantile(s.Seconds, 1) }

// all is the median with the least and the greatest of the rounds.
func (s Series) all() spread { return spreadOf(s.Seconds, 0.5) }

// point is the point of a curve with the times of the rounds, times a factor.
func (s Series) point(x, factor float64) Point {
	return Point{x, factor * s.Median(), factor * s.Least(), factor * s.Greatest()}
}

// Rate returns rows per second.
func (s Series) Rate() float64 { return float64(s.Rows) / s.Median() }

func quantile[T cmp.Ordered](values []T, q float64) (zero T) {
	if len(values) == 0 {
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Round(q*float64(len(sorted)-1)))]
}

// spread is a value with its minimum and maximum.
type spread struct{ value, low, high float64 }

// exactly is a value that has been measured once.
func exactly(v float64) spread { return spread{v, v, v} }

// spreadOf is a quantile of values, with the least and the greatest of them.
func spreadOf(values []float64, q float64) spread {
	return spread{quantile(values, q), quantile(values, 0), quantile(values, 1)}
}

// least and greatest return the one with the lowest and the highest value.
func least(all ...spread) spread    { return slices.MinFunc(all, byValue) }
func greatest(all ...spread) spread { return slices.MaxFunc(all, byValue) }

func byValue(a, b spread) int { return cmp.Compare(a.value, b.value) }

// slower returns how many times as long a takes as b: the ratio of the medians,
// and the minimum and the maximum ratio of one round.
func slower(a, b Series) spread {
	s := spread{value: a.Median() / b.Median(), low: math.Inf(1), high: math.Inf(-1)}
	for i := range min(len(a.Seconds), len(b.Seconds)) {
		ratio := a.Seconds[i] / b.Seconds[i]
		s.low, s.high = min(s.low, ratio), max(s.high, ratio)
	}
	return s
}

// faster returns a's rows per second as a multiple of b's.
func faster(a, b Series) spread {
	share := 1.0
	if a.Rows > 0 && b.Rows > 0 {
		share = float64(a.Rows) / float64(b.Rows)
	}
	s := slower(b, a)
	return spread{s.value * share, s.low * share, s.high * share}
}
