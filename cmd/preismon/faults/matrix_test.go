package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest"
)

// fault is one row of the matrix. do makes it come and go; what it left on the
// proxies is undone afterwards. An error means that the fault did not occur.
type fault struct {
	name string
	do   func(w *world, rnd *rand.Rand) error

	core  bool // in every run, even the shortest
	long  bool // takes about a minute: in long runs only
	alone bool // no other may overlap it: it relies on what they would break
}

func upTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }

// faults are all faults.
var faults = slices.Concat(processFaults, tableFaults, streamFaults, accessFaults, tokenFaults, endedFaults, raceFaults, archiveFaults, limitFaults, migrationFaults, damageFaults, rejectedFaults, notifyFaults)

var processFaults = []fault{
	{name: "projector-killed", do: func(w *world, rnd *rand.Rand) error {
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		return w.killLeader()
	}},
	// Failpoints: the leader is killed at the first byte of what it sends next.
	{name: "killed-after-fetch", do: killedAt((*world).streamsOfProjectors, proxy.Down, proxy.Rule{Pattern: []byte("observations.shop-"), Left: 2000, Then: proxy.Hold})},
	{name: "killed-mid-block", core: true, do: killedAt((*world).tablesOfProjectors, proxy.Up, proxy.Rule{Pattern: []byte("-observations-"), Left: 3000, Then: proxy.Hold})},
	{name: "killed-before-table-2", do: killedAt((*world).tablesOfProjectors, proxy.Up, proxy.Rule{Pattern: []byte("-observations_by_mandate-"), Then: proxy.Hold})},
	{name: "killed-before-table-3", do: killedAt((*world).tablesOfProjectors, proxy.Up, proxy.Rule{Pattern: []byte("-latest_observations-"), Then: proxy.Hold})},
	{name: "killed-before-table-4", do: killedAt((*world).tablesOfProjectors, proxy.Up, proxy.Rule{Pattern: []byte("-ingested_events-"), Then: proxy.Hold})},
	{name: "killed-before-checkpoint", core: true, do: killedAt((*world).tablesOfProjectors, proxy.Up, proxy.Rule{Pattern: []byte("-checkpoints-"), Then: proxy.Hold})},
	{name: "killed-before-acknowledgement", core: true, do: killedAt((*world).streamsOfProjectors, proxy.Up, proxy.Rule{Pattern: []byte("$JS.ACK.OBSERVATIONS"), Then: proxy.Hold})},
	{name: "killed-after-commit", core: true, do: func(w *world, rnd *rand.Rand) error {
		if err := loseReply(w); err != nil {
			return err
		}
		return w.killLeader()
	}},
	{name: "reply-lost", core: true, do: func(w *world, _ *rand.Rand) error {
		defer w.projectorTables.Reset()
		return loseReply(w)
	}},
	{name: "insert-cut", do: func(w *world, rnd *rand.Rand) error {
		return w.meets(w.projectorTables, proxy.Up, proxy.Rule{Pattern: []byte("-observations"), Left: rnd.Int64N(6000), Then: proxy.Break})
	}},
	{name: "answers-cut", do: func(w *world, rnd *rand.Rand) error {
		return w.meets(w.projectorTables, proxy.Down, proxy.Rule{Left: rnd.Int64N(3000), Then: proxy.Break})
	}},
	{name: "clickhouse-blackholed", do: func(w *world, rnd *rand.Rand) error {
		if err := w.meets(w.projectorTables, proxy.Up, proxy.Rule{Left: rnd.Int64N(6000), Then: proxy.Hold}); err != nil {
			return err
		}
		time.Sleep(upTo(rnd, 2*time.Second))
		if rnd.IntN(2) == 0 {
			w.projectorTables.Reset() // otherwise what was held would pass
		}
		w.projectorTables.Heal()
		return nil
	}},
	{name: "clickhouse-slow", do: func(w *world, rnd *rand.Rand) error {
		w.projectorTables.Set(proxy.Up, proxy.Rule{Left: -1, Delay: time.Duration(5+rnd.IntN(40)) * time.Millisecond})
		w.queryTables.Set(proxy.Down, proxy.Rule{Left: -1, Delay: time.Duration(5+rnd.IntN(40)) * time.Millisecond})
		time.Sleep(500 * time.Millisecond)
		w.projectorTables.Heal()
		w.queryTables.Heal()
		return nil
	}},
	{name: "clickhouse-killed", do: func(w *world, rnd *rand.Rand) error {
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		return w.restartTables(context.Background(), upTo(rnd, 200*time.Millisecond), limits{})
	}},
	{name: "clickhouse-killed-in-insert", core: true, do: func(w *world, rnd *rand.Rand) error {
		if err := w.meets(w.projectorTables, proxy.Up, proxy.Rule{Pattern: []byte("-observations")}); err != nil {
			return err
		}
		time.Sleep(upTo(rnd, 15*time.Millisecond))
		return w.restartTables(context.Background(), 0, limits{})
	}},
	{name: "takeover-without-clickhouse", do: func(w *world, rnd *rand.Rand) error {
		leader, standby, err := w.leader()
		if err != nil {
			return err
		}
		w.projectorTables.Set(proxy.Up, proxy.Rule{Then: proxy.Break})
		leader.Kill()
		time.Sleep(2 * leaseTTL)
		w.projectorTables.Heal()
		return errors.Join(must.Until(patience, "the standby leads", standby.Leads), restart(leader))
	}},
	{name: "query-cut", core: true, do: func(w *world, rnd *rand.Rand) error {
		for range 5 {
			if err := w.meets(w.queryTables, proxy.Down, proxy.Rule{Left: rnd.Int64N(20_000), Then: proxy.Break}); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "query-killed", core: true, do: func(w *world, rnd *rand.Rand) error {
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		w.query.Kill()
		return restart(w.query)
	}},
	{name: "zombie", do: func(w *world, rnd *rand.Rand) error {
		old, standby, err := w.leader()
		if err != nil {
			return err
		}
		time.Sleep(upTo(rnd, 200*time.Millisecond))
		old.Signal(syscall.SIGSTOP)
		err = must.Until(patience, "the standby leads", standby.Leads)
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		old.Signal(syscall.SIGCONT)
		return err
	}},
	{name: "zombie-in-insert", core: true, do: func(w *world, rnd *rand.Rand) error {
		old, standby, err := w.leader()
		if err != nil {
			return err
		}
		defer old.Signal(syscall.SIGCONT)
		if err := w.meets(w.projectorTables, proxy.Up, proxy.Rule{Pattern: []byte("-observations"), Left: rnd.Int64N(2000), Then: proxy.Hold, Act: func() { old.Signal(syscall.SIGSTOP) }}); err != nil {
			return err
		}
		w.projectorTables.Heal()
		return must.Until(patience, "the standby leads", standby.Leads)
	}},
	{name: "two-leaders", core: true, do: func(w *world, rnd *rand.Rand) error {
		if _, _, err := w.leader(); err != nil {
			return err
		}
		kv, err := w.streams().KeyValue(context.Background(), ingest.BucketLeases)
		if err != nil {
			return err
		}
		taken, err := kv.Put(context.Background(), ingest.ProjectorLease(0, 1), nil) // as if it was released
		if err != nil {
			return err
		}
		return must.Until(patience, "someone takes the lease beside the one who leads", func() bool {
			e, err := kv.Get(context.Background(), ingest.ProjectorLease(0, 1))
			return err == nil && e.Revision() > taken && len(e.Value()) > 0
		})
	}},
	{name: "nats-killed", core: true, do: func(w *world, rnd *rand.Rand) error {
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		return w.restartStreams(upTo(rnd, 300*time.Millisecond))
	}},
	{name: "nats-cut", do: func(w *world, rnd *rand.Rand) error {
		for range 3 {
			p := []*proxy.Proxy{w.projectorStreams, w.producerStreams, w.queryStreams}[rnd.IntN(3)]
			p.Reset()
			time.Sleep(upTo(rnd, 300*time.Millisecond))
		}
		return nil
	}},
	{name: "publish-acknowledgement-lost", core: true, do: func(w *world, rnd *rand.Rand) error {
		if err := w.meets(w.producerStreams, proxy.Down, proxy.Rule{Left: rnd.Int64N(1500), Then: proxy.Hold}); err != nil {
			return err
		}
		time.Sleep(upTo(rnd, time.Second))
		w.producerStreams.Reset()
		w.producerStreams.Heal()
		return nil
	}},
	{name: "acknowledgement-lost", do: func(w *world, rnd *rand.Rand) error {
		return w.meets(w.projectorStreams, proxy.Up, proxy.Rule{Pattern: []byte("$JS.ACK.OBSERVATIONS"), Then: proxy.Break})
	}},
	{name: "consumer-deleted", do: func(w *world, rnd *rand.Rand) error {
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		return w.streams().DeleteConsumer(context.Background(), event.StreamObservations, "projector-0")
	}},
	{name: "acknowledgement-floor-reset", core: true, do: func(w *world, rnd *rand.Rand) error {
		_, err := w.streams().ResetConsumerToSequence(context.Background(), event.StreamObservations, "projector-0", 1)
		if err != nil { // a consumer that was created to begin later cannot go back that far
			return errors.Join(err, w.streams().DeleteConsumer(context.Background(), event.StreamObservations, "projector-0"))
		}
		if rnd.IntN(2) == 0 {
			return w.killLeader()
		}
		return nil
	}},
	{name: "published-twice", core: true, do: func(w *world, rnd *rand.Rand) error {
		return w.producer.republish(context.Background(), 1+rnd.IntN(20))
	}},
	{name: "poison", core: true, do: func(w *world, rnd *rand.Rand) error {
		return w.producer.poison(context.Background(), rnd.IntN(11), 1+rnd.IntN(12))
	}},
}

func (w *world) tablesOfProjectors() *proxy.Proxy  { return w.projectorTables }
func (w *world) streamsOfProjectors() *proxy.Proxy { return w.projectorStreams }

// patience bounds the wait for what comes soon on a quiet machine.
const patience = 40 * time.Second

// meets sets a rule on a proxy and waits until it is met. A rule that breaks
// connections breaks one only: in a composition the others go on.
func (w *world) meets(p *proxy.Proxy, d proxy.Direction, r proxy.Rule) error {
	if r.Then == proxy.Break {
		defer p.Set(d, proxy.Rule{Left: -1})
	}
	met, act := make(chan struct{}), r.Act
	r.Act = func() {
		if act != nil {
			act()
		}
		close(met)
	}
	p.Set(d, r)
	select {
	case <-met:
		return nil
	case <-time.After(patience):
		p.Set(d, proxy.Rule{Left: -1}) // no one waits for it any more
		return fmt.Errorf("nothing met the rule %q in %s", r.Pattern, patience)
	}
}

// retried repeats something until it succeeds, because other faults may be
// active.
func retried[T any](do func() (T, error)) (v T, err error) {
	var last error
	err = must.Until(patience, "it is done", func() bool {
		v, last = do()
		return last == nil
	})
	if err != nil {
		err = errors.Join(err, last)
	}
	return v, err
}

// restart starts a role that has ended, as its supervisor would: as often as
// necessary, because another fault may cut it off from its servers.
func restart(r *process.Role) error {
	var last error
	err := must.Until(patience, r.Args[0]+" runs again", func() bool { last = r.Start(); return last == nil })
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// killLeader kills the leading projector and starts it again, as a standby.
func (w *world) killLeader() error {
	leader, _, err := w.leader()
	if err != nil {
		return err
	}
	leader.Kill()
	w.projectorTables.Heal()
	w.projectorStreams.Heal()
	return restart(leader)
}

// killedAt kills the leader at a given point of what it sends or receives.
func killedAt(of func(*world) *proxy.Proxy, d proxy.Direction, at proxy.Rule) func(*world, *rand.Rand) error {
	return func(w *world, rnd *rand.Rand) error {
		leader, _, err := w.leader()
		if err != nil {
			return err
		}
		r := at
		r.Act = func() { leader.Signal(syscall.SIGKILL) }
		if r.Left > 0 {
			r.Left = rnd.Int64N(r.Left)
		}
		if err := w.meets(of(w), d, r); err != nil {
			return err
		}
		leader.Kill()
		of(w).Heal()
		return restart(leader)
	}
}

// loseReply lets an insert of the leader complete, and holds the answer. The
// caller then breaks the connection.
func loseReply(w *world) error {
	// A column as the block of rows names it, not as in the statement, which
	// comes before.
	insert := proxy.Rule{Pattern: []byte("captured_ms\x05Int64"), Left: -1, Answer: &proxy.Rule{Then: proxy.Hold}}
	met := make(chan struct{})
	insert.Answer.Act = func() { close(met) }
	w.projectorTables.Set(proxy.Up, insert)
	select {
	case <-met:
	case <-time.After(patience):
		return errors.New("no insert was answered")
	}
	return must.Until(patience, "the insert is done", func() bool {
		var n int
		err := w.db().QueryRow(`SELECT count() FROM system.processes WHERE query_id LIKE 'p0-%-observations-%'`).Scan(&n)
		return err == nil && n == 0
	})
}
