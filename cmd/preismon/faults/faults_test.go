// Package faults breaks what can break while producers publish and customers
// read, and proves that nothing was lost, duplicated or shown to another
// mandate, and that no half file was mistaken for a whole one. Servers and
// roles are real processes, with a proxy of ours between any two of them.
// rows_test.go lists which fault proves which row of the matrix of faults; what
// must always hold (I1 to I9) is in checker_test.go, answer_test.go,
// tokens_test.go and bounds_test.go.
//
// `go test` runs the core faults, some of the others at random, and a
// composition of some. -fault.for or PREISMON_FAULTS, as in 15m, requests a
// longer run: first the core faults, then all others at random, round after
// round, for that long. -fault.seed repeats a run as far as random choices go;
// the timing of the processes is not repeatable.
package faults_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

var (
	runFor  = flag.Duration("fault.for", variable(), "how long to go on with faults; 0: some of them, once")
	runSeed = flag.Uint64("fault.seed", 0, "seed of chance; 0: a new one")
	runOnly = flag.String("fault.only", "", "regular expression of the faults to run")

	runPlain = flag.Bool("fault.plain", false, "mount nothing, as where it is not allowed")
)

func variable() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("PREISMON_FAULTS"))
	return d
}

// tries is how often a fault may fail to occur: on a busy machine, what it
// waits for may be over before it looks. The checks run after every try anyway.
const tries = 3

// tally is the result of a fault's iterations.
type tally struct {
	iterations, lost int
	doubled          uint64
	lag              time.Duration // the longest
}

func (c *tally) add(v verdictOf) {
	c.iterations++
	c.lost += v.lost
	c.doubled += v.doubled
	c.lag = max(c.lag, v.lag)
}

// TestFaults runs every fault of the table, and compositions of them.
func TestFaults(t *testing.T) {
	effort.Full(t, "minutes of faults")
	seed := *runSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	only := regexp.MustCompile(*runOnly)
	var reasons []string // printed again at the very end, after the logs of all processes
	t.Cleanup(func() {
		for _, line := range reasons {
			fmt.Println("wrong:", strings.ReplaceAll(line, "\n", "; "))
		}
	})
	w := newWorld(t, seed)
	w.withFiles()
	w.startRoles()
	must.Eventually(t, healed, "the catalogue is in the tables", w.catalogued)
	stop := w.live()
	defer stop()
	counts := map[string]*tally{}
	report := func(name string) {
		c := counts[name]
		fmt.Printf("fault=%s iterations=%d lost=%d doubled=%d seed=%d longest_lag=%s\n", name, c.iterations, c.lost, c.doubled, seed, c.lag.Round(time.Millisecond))
	}
	once := func(name string, do func() error) {
		t.Helper()
		if counts[name] == nil {
			counts[name] = &tally{}
		}
		v := w.iteration(t, do)
		for try := 1; v.err == nil && v.absent != nil && try < tries; try++ {
			t.Logf("fault=%s did not come about, once more: %v", name, v.absent)
			v = w.iteration(t, do)
		}
		if v.err == nil {
			v.err = v.absent
		}
		counts[name].add(v)
		fmt.Printf("%s fault=%s lost=%d doubled=%d lag=%s\n", time.Now().Format(time.TimeOnly), name, v.lost, v.doubled, v.lag.Round(time.Millisecond))
		if v.err != nil {
			report(name)
			reasons = append(reasons, fmt.Sprintf("fault=%s iteration %d, seed %d: %v", name, counts[name].iterations, seed, v.err))
			t.Error(reasons[len(reasons)-1])
			if v.absent == nil || v.err != v.absent {
				t.FailNow() // otherwise nothing is known to be wrong, and the other faults get their turn
			}
		}
	}
	if v := w.iteration(t, func() error { return nil }); v.err != nil {
		t.Fatalf("without any fault: %v", v.err)
	}
	began := time.Now()
	const composed = "composition"
	for round := 0; round == 0 || time.Since(began) < *runFor; round++ {
		for i, f := range drawn(rnd, only) {
			if *runFor > 0 && time.Since(began) > *runFor && (round > 0 || !f.core) {
				break
			}
			once(f.name, func() error { return f.do(w, rnd) })
			if i%10 == 9 && only.MatchString(composed) {
				once(composed, func() error { return compose(t, w, rnd) })
			}
		}
		if only.MatchString(composed) {
			once(composed, func() error { return compose(t, w, rnd) })
		}
	}
	for _, f := range faults {
		if counts[f.name] != nil {
			report(f.name)
		}
	}
	if counts[composed] != nil {
		report(composed)
	}
	reads, fails := w.read()
	w.usage.report()
	for _, r := range w.readers {
		t.Logf("mandate %d followed its changes by %d pages and %d tails, and began again %d times", r.mandate, r.follower.pages.Load(), r.follower.tails.Load(), r.follower.gone.Load())
	}
	t.Logf("%d probes with revoked tokens, %d whole downloads", w.tokens.probes.Load(), w.readers[0].whole.Load())
	t.Logf("%s, %d events, %d rows, %d reads of which %d were refused", time.Since(began).Round(time.Second), len(w.ledger.events), len(w.ledger.rows), reads, fails)
	if reads-fails < 20 {
		t.Error("the readers read too little to find anything")
	}
	same := uint64(0)
	for _, c := range w.compared {
		same += c.Same
	}
	if t.Logf("compared=%d remembered answers", same); same == 0 {
		t.Error("no remembered answer was compared")
	}
}

// sampled is how many of the faults that are not core a short run includes.
const sampled = 8

// drawn returns the faults of a round in random order: all, or in a short run
// the core ones and some others.
func drawn(rnd *rand.Rand, only *regexp.Regexp) []fault {
	var list []fault
	others := 0
	order := rnd.Perm(len(faults))
	if *runFor > 0 {
		slices.SortStableFunc(order, func(a, b int) int { // the core ones first
			return cmp.Compare(rank(faults[a]), rank(faults[b]))
		})
	}
	for _, i := range order {
		f := faults[i]
		switch {
		case !only.MatchString(f.name):
			continue
		case *runFor > 0 || *runOnly != "" || f.core:
		case f.long || others == sampled:
			continue
		default:
			others++
		}
		list = append(list, f)
	}
	return list
}

func rank(f fault) int {
	if f.core {
		return 0
	}
	return 1
}

// iteration lets a fault come and go while everything runs, and checks.
func (w *world) iteration(t *testing.T, do func() error) verdictOf {
	since := w.ledger.mark()
	w.since = since
	for _, r := range w.readers {
		r.forget(since)
	}
	w.producer.resume()
	time.Sleep(100 * time.Millisecond) // some rows before the fault
	err := do()
	w.heal()
	if err := w.revive(); err != nil {
		return verdictOf{err: err}
	}
	back := w.withdraw()
	time.Sleep(100 * time.Millisecond) // and some after it
	v := w.settle(t.Context(), since)
	var f *finding
	switch {
	case errors.As(err, &f):
		v.err = errors.Join(v.err, err)
	case err != nil:
		v.absent = fmt.Errorf("the fault did not come about: %w", err)
	}
	v.err = errors.Join(v.err, back, w.findings(), w.compares())
	return v
}

// compares notes what the query node has compared, and returns an error if it
// ever found a remembered answer that differs from a new one. It may have been
// killed since: its log has all its starts.
func (w *world) compares() error {
	c, ok := w.query.Compared()
	if ok {
		w.compared[w.query.PID()] = c
	}
	if logged := strings.Count(w.query.Written(), ": remembered is "); c.Different > 0 || logged > 0 {
		return wrong("I5", "remembered answers differ from new ones: %+v, %d in the log", c, logged)
	}
	return nil
}

// heal undoes what faults left behind.
func (w *world) heal() {
	for _, p := range []*proxy.Proxy{w.projectorTables, w.queryTables, w.projectorStreams, w.queryStreams, w.producerStreams, w.archive} {
		p.Heal()
	}
	w.producer.burst.Store(usual)
}

// compose lets some randomly drawn faults overlap.
func compose(t *testing.T, w *world, rnd *rand.Rand) error {
	var group sync.WaitGroup
	var names []string
	for range 2 + rnd.IntN(2) {
		f := faults[rnd.IntN(len(faults))]
		for f.alone || f.long {
			f = faults[rnd.IntN(len(faults))]
		}
		names = append(names, f.name)
		own, wait := rand.New(rand.NewPCG(rnd.Uint64(), 3)), time.Duration(rnd.IntN(600))*time.Millisecond
		group.Go(func() {
			time.Sleep(wait)
			// One fault may prevent what another waits for.
			if err := f.do(w, own); err != nil {
				t.Logf("composition: %s: %v", f.name, err)
			}
		})
	}
	group.Wait()
	t.Logf("composition of %v", names)
	return nil
}
