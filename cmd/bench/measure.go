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

// contestant does one thing once, and reports how much it did.
type contestant struct {
	name string
	do   func(ctx context.Context) (done, error)
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

func (c CPU) String() string {
	return fmt.Sprintf("CPU: ClickHouse %.2f s, query service %.2f s, here %.2f s", c.ClickHouse, c.Query, c.Self)
}

// cpu returns the processor time of the processes so far; 0 where the system
// does not report it.
func (w *world) cpu() (c CPU) {
	if w.ch != nil {
		c.ClickHouse = processorTime(w.ch.PID())
	}
	for _, n := range w.nodes {
		c.Query += processorTime(n.cmd.Process.Pid)
	}
	c.Self = processorTime(os.Getpid())
	return c
}

// processorTime returns the user and system time of a process in seconds.
func processorTime(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), ") ") // the name may contain anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	const ticks = 100 // per second, on every Linux
	return (user + system) / ticks
}

// interleave lets the contestants take turns. The first one changes with each
// round, so that none always follows the same other.
func (r *run) interleave(ctx context.Context, warm, rounds int, all ...contestant) ([]Series, error) {
	series := make([]Series, len(all))
	for i, c := range all {
		series[i].Name = c.name
	}
	for round := range warm + rounds {
		for n := range all {
			i := (n + round) % len(all)
			runtime.GC() // so that no contestant collects another's garbage
			before, began := r.world.cpu(), time.Now()
			d, err := all[i].do(ctx)
			if err != nil {
				return series, err
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
	return series, nil
}

// Median returns the median of the rounds.
func (s Series) Median() float64 { return quantile(s.Seconds, 0.5) }

// Least and Greatest return the shortest and the longest of the rounds.
func (s Series) Least() float64    { return quantile(s.Seconds, 0) }
func (s Series) Greatest() float64 { return quantile(s.Seconds, 1) }

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

// least and greatest return the one with the lower and the higher value.
func least(a, b spread) spread {
	return slices.MinFunc([]spread{a, b}, byValue)
}

func greatest(a, b spread) spread {
	return slices.MaxFunc([]spread{a, b}, byValue)
}

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
