package auth_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// A busy key does not access the bucket for each request, and a quiet one
// returns what it does not use.
func TestLeases(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	one, _ := counters(t, address, limitsOf(600, time.Hour), func(c *auth.SharedConfig) { c.LeaseFor = 5 * time.Second })
	two, _ := counters(t, address, limitsOf(600, time.Hour))
	nc := must.Get(nats.Connect(address))(t)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(t)
	stream := must.Get(js.Stream(t.Context(), "KV_"+auth.SharedDefaults().Bucket))(t)
	before := must.Get(stream.Info(t.Context()))(t)
	for range 400 {
		must.Get(one.Read(7))(t)
	}
	after := must.Get(stream.Info(t.Context()))(t)
	if writes := after.State.LastSeq - before.State.LastSeq; writes > 100 {
		t.Errorf("400 requests wrote %d times", writes)
	} else {
		t.Logf("400 requests wrote %d times", writes)
	}
	kv := must.Get(js.KeyValue(t.Context(), auth.SharedDefaults().Bucket))(t)
	taken := func() (n int) { // of all accounts: there is one
		keys := must.Get(kv.Keys(t.Context()))(t)
		for _, key := range keys {
			if strings.HasPrefix(key, "reads.") {
				entry := must.Get(kv.Get(t.Context(), key))(t)
				var ends int64
				must.Get(fmt.Sscan(string(entry.Value()), &ends, &n))(t)
			}
		}
		return n
	}
	if taken() <= 400 {
		t.Errorf("%d taken: no lease is out", taken())
	}
	eventually(t, "idle leases are given back", 20*time.Second, func() bool { return taken() == 400 })
	if q, err := two.Read(7); err != nil || q.Remaining != 199 {
		t.Errorf("on the other node: %+v, %v", q, err)
	}
	for i := range 3 { // the bucket contains no names
		_, _ = one.Attempt(fmt.Sprintf("192.0.2.%d", i), "someone@example.com")
	}
	keys := must.Get(kv.Keys(t.Context()))(t)
	for _, key := range keys {
		for _, name := range []string{"192.0.2", "someone"} {
			if len(key) > 60 || strings.Contains(key, name) {
				t.Errorf("key %q", key)
			}
		}
	}
}

// A new window begins when the old one is over, with the full limit.
func TestSharedWindowsEnd(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := limitsOf(20, time.Second)
	one, _ := counters(t, address, limits)
	two, _ := counters(t, address, limits)
	for range effort.Often(2, 3) {
		var last auth.Quota
		granted := 0
		for {
			q, err := one.Read(7)
			if err != nil {
				last = q
				break
			}
			granted++
		}
		if granted > 20 || granted < 1 {
			t.Errorf("%d granted", granted)
		}
		time.Sleep(time.Until(last.Reset) + 50*time.Millisecond)
		q, err := two.Read(7)
		if err != nil || q.Remaining > 19 || q.Remaining < 10 || !q.Reset.After(last.Reset) {
			t.Errorf("after the window: %+v, %v", q, err)
		}
		time.Sleep(time.Until(q.Reset) + 50*time.Millisecond)
	}
}

// A bucket that is lost and created again is counted in by all nodes from then
// on, also for keys that were known before.
func TestBucketIsRecreated(t *testing.T) {
	t.Parallel()
	address := testserver.NATS(t)
	limits := limitsOf(150, time.Second)
	one, _ := counters(t, address, limits)
	two, _ := counters(t, address, limits)
	for i := range 50 { // its sequences are far ahead of those of the next
		must.Get(one.Attempt(fmt.Sprint("address ", i), ""))(t)
	}
	before := must.Get(one.Read(7))(t)
	nc := must.Get(nats.Connect(address))(t)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(t)
	must.Do(t, js.DeleteKeyValue(t.Context(), auth.SharedDefaults().Bucket))
	eventually(t, "the bucket is there again, and both count in it", 20*time.Second, func() bool {
		time.Sleep(time.Until(before.Reset))
		var q [2]auth.Quota
		for i, node := range []*auth.Throttle{one, two} {
			var err error
			if q[i], err = node.Read(7); err != nil {
				return false
			}
		}
		before = q[1]
		return q[0].Reset.Equal(q[1].Reset) && q[1].Remaining < q[0].Remaining
	})
}

// Nodes that count together on a cluster do not take a conflict for an outage,
// and grant exactly the limit.
func TestNodesCountTogetherOnACluster(t *testing.T) {
	effort.Full(t, "a cluster of NATS servers")
	t.Parallel()
	servers := cluster.Start(t)
	replicated := func(c *auth.SharedConfig) { c.Replicas = cluster.Size }
	var nodes []*auth.Throttle
	for i := range cluster.Size {
		node, _ := counters(t, servers.URL(i), limitsOf(900, time.Hour), replicated)
		nodes = append(nodes, node)
	}
	var granted, alone atomic.Int64
	var clients sync.WaitGroup
	for i := range 4 * cluster.Size {
		clients.Go(func() {
			node := nodes[i%cluster.Size]
			for range 200 {
				if _, err := node.Read(7); err == nil {
					granted.Add(1)
				}
				if node.Stats().Alone {
					alone.Add(1)
				}
			}
		})
	}
	clients.Wait()
	again := func() bool {
		for _, node := range nodes {
			if _, err := node.Read(7); err == nil {
				granted.Add(1)
			}
		}
		return granted.Load() >= 900
	}
	eventually(t, "what a node leased and no longer needs is granted elsewhere", 20*time.Second, again)
	again()
	if granted.Load() != 900 || alone.Load() > 0 {
		t.Errorf("%d of 900 granted, a node counted alone at %d looks", granted.Load(), alone.Load())
	}
}
