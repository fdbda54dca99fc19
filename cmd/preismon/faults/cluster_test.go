package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/ingest"
)

var (
	clusterCount = flag.Int("cluster.count", 0, "how many compositions of faults of a cluster; 0: the chief ones once, always the same")
	clusterFor   = flag.Duration("cluster.for", 0, "how long to go on with them")
	clusterOnly  = flag.String("cluster.only", "", "regular expression of the faults of a cluster to run")
)

// TestCluster runs everything on three NATS servers and breaks these, and at
// the same time what the other faults break. -fault.seed repeats a run.
func TestCluster(t *testing.T) {
	seed, short := *runSeed, *clusterCount == 0 && *clusterFor == 0
	if short {
		effort.Full(t, "faults of a cluster of three NATS servers")
	}
	switch {
	case seed != 0:
	case short:
		seed = 1
	default:
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("cluster seed=%d\n", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	cluster.Quick()
	w := newWorldOn(t, seed, cluster.Start(t))
	w.startRoles()
	must.Eventually(t, healed, "the catalogue is in the tables", w.catalogued)
	stop := w.live()
	defer stop()
	if v := w.iteration(t, func() error { return nil }); v.err != nil {
		t.Fatalf("without any fault: %v", v.err)
	}
	counts := map[string]*tally{}
	total := &tally{}
	defer func() {
		for _, f := range slices.Concat(clusterFaults, concurrentFaults()) {
			if c := counts[f.name]; c != nil {
				fmt.Printf("fault=cluster-%s iterations=%d lost=%d doubled=%d seed=%d longest_lag=%s\n", strings.TrimPrefix(f.name, "cluster-"), c.iterations, c.lost, c.doubled, seed, c.lag.Round(time.Millisecond))
			}
		}
		fmt.Printf("fault=cluster-composition iterations=%d lost=%d doubled=%d seed=%d longest_lag=%s\n", total.iterations, total.lost, total.doubled, seed, total.lag.Round(time.Millisecond))
	}()
	only := regexp.MustCompile(*clusterOnly)
	began := time.Now()
	for n := 0; ; n++ {
		of := slices.DeleteFunc(slices.Clone(clusterFaults), func(f fault) bool { return short && !f.core || !only.MatchString(f.name) })
		names, do := w.composed(t, rnd, of, n)
		if *clusterFor > 0 && time.Since(began) > *clusterFor || *clusterCount > 0 && n >= *clusterCount || short && n >= len(of) {
			reads, fails := w.read()
			t.Logf("%d compositions in %s, %d events, %d rows, %d reads of which %d were refused", total.iterations, time.Since(began).Round(time.Second), len(w.ledger.events), len(w.ledger.rows), reads, fails)
			if reads-fails < 20 {
				t.Error("the readers read too little to find anything")
			}
			return
		}
		v := w.iteration(t, do)
		total.add(v)
		for _, name := range names {
			if counts[name] == nil {
				counts[name] = &tally{}
			}
			counts[name].add(v)
		}
		fmt.Printf("%s %d composition=%s lost=%d doubled=%d lag=%s\n", time.Now().Format(time.TimeOnly), n+1, strings.Join(names, "+"), v.lost, v.doubled, v.lag.Round(time.Millisecond))
		if v.absent != nil {
			t.Logf("%v", v.absent)
		}
		if v.err != nil {
			t.Errorf("composition %d of %v, seed %d: %v", n+1, names, seed, v.err)
			if v.lost > 0 || v.doubled > 0 {
				return // the next one would report the same
			}
		}
	}
}

// concurrentFaults are the faults of the other servers and of the roles that can
// occur while the cluster is broken: they need no proxy in front of a single
// NATS server.
func concurrentFaults() (list []fault) {
	for _, f := range faults {
		if slices.Contains(concurrent, f.name) {
			list = append(list, f)
		}
	}
	return list
}

var concurrent = []string{
	"projector-killed", "killed-mid-block", "killed-before-checkpoint", "killed-after-commit", "insert-cut", "answers-cut", "clickhouse-slow", "clickhouse-killed",
	"clickhouse-killed-in-insert", "query-killed", "zombie", "two-leaders", "consumer-deleted", "acknowledgement-floor-reset", "published-twice", "poison",
	"granted-and-revoked", "granted-and-killed",
}

// composed draws the faults of a composition: in the first compositions, each
// fault is alone.
func (w *world) composed(t *testing.T, rnd *rand.Rand, of []fault, n int) (names []string, do func() error) {
	drawn := []fault{of[n%len(of)]}
	if n >= len(of) {
		if drawn[0].alone && rnd.IntN(2) == 0 { // they take long
			drawn[0] = of[rnd.IntN(len(of))]
		}
		if other := of[rnd.IntN(len(of))]; rnd.IntN(3) == 0 && !drawn[0].alone && !other.alone && other.name != drawn[0].name {
			drawn = append(drawn, other)
		}
		if others := concurrentFaults(); rnd.IntN(5) < 3 { // only one: of two, one might wait for the other
			drawn = append(drawn, others[rnd.IntN(len(others))])
		}
	}
	for _, f := range drawn {
		names = append(names, f.name)
	}
	return names, func() error {
		var group sync.WaitGroup
		var first error
		for k, f := range drawn {
			own, wait := rand.New(rand.NewPCG(rnd.Uint64(), 3)), time.Duration(0)
			if k > 0 {
				wait = upTo(rnd, 600*time.Millisecond)
			}
			group.Go(func() {
				time.Sleep(wait)
				err := f.do(w, own)
				var found *finding
				switch {
				case err == nil:
				case errors.As(err, &found):
					w.finding(err)
				case len(drawn) == 1:
					first = err
				default: // one fault may prevent what another waits for
					t.Logf("composition: %s: %v", f.name, err)
				}
			})
		}
		group.Wait()
		return first
	}
}

// reviveCluster starts the servers that are down and undoes what was done to
// their routes.
func (w *world) reviveCluster() error {
	var err error
	for i := range cluster.Size {
		err = errors.Join(err, w.cluster.Start(i))
	}
	w.cluster.Heal()
	return err
}

// lagGrace is the age up to which a waiting message may be missing from the
// lag.
const lagGrace = 8 * time.Second

var lagLine = regexp.MustCompile(`(?m)^preismon_projector_lag_messages (\S+)$`)

// watchLag reports a finding if a projector, leading or standing by, reports
// that nothing waits although a message has been waiting for a while.
func (w *world) watchLag(ctx context.Context) {
	type end struct {
		at  time.Time
		seq uint64
	}
	var ends []end
	for ; ctx.Err() == nil; time.Sleep(300 * time.Millisecond) {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		if s, err := w.streams().Stream(asking, event.StreamObservations); err == nil {
			ends = append(ends, end{time.Now(), s.CachedInfo().State.LastSeq})
		}
		cancel()
		var known uint64
		for len(ends) > 0 && time.Since(ends[0].at) > lagGrace {
			known = max(known, ends[0].seq)
			if len(ends) == 1 || time.Since(ends[1].at) <= lagGrace {
				break
			}
			ends = ends[1:]
		}
		for _, r := range w.projectors {
			if lagOf(r) != "0" {
				continue
			}
			var at uint64 // read after the metric, so that what was applied meanwhile is not a finding
			if err := w.db().QueryRowContext(ctx, `SELECT max((epoch, seq)).2 FROM checkpoints WHERE stream = ?`, event.StreamObservations).Scan(&at); err == nil && at < known {
				w.finding(wrong("I7", "the lag is 0 and %d messages wait since %s ago", known-at, lagGrace))
			}
		}
	}
}

func lagOf(r *process.Role) string {
	_, text := r.Ask("/metrics")
	if m := lagLine.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// clusterLeaders returns the server that leads OBSERVATIONS and the one that
// leads the projector's consumer of it.
func (w *world) clusterLeaders() (stream, consumer int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := w.streams().Stream(ctx, event.StreamObservations)
	if err != nil {
		return -1, -1, err
	}
	c, err := s.Consumer(ctx, ingest.ProjectorConsumer(0, 1))
	if err != nil {
		return -1, -1, err
	}
	stream, consumer = cluster.Node(s.CachedInfo().Cluster.Leader), cluster.Node(c.CachedInfo().Cluster.Leader)
	if stream < 0 || consumer < 0 {
		return -1, -1, errors.New("nobody leads")
	}
	return stream, consumer, nil
}
