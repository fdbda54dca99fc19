package auth_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/query/auth"
)

// node is one query node's view of the revoked tokens.
func node(t *testing.T, address string, change ...func(*auth.RevocationConfig)) *auth.RevokedTokens {
	t.Helper()
	nc := must.Get(nats.Connect(address, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.CustomInboxPrefix("_INBOX")))(t)
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))(t)
	cfg := auth.RevocationDefaults()
	cfg.Check = 100 * time.Millisecond
	for _, f := range change {
		f(&cfg)
	}
	r := must.Get(auth.NewRevokedTokens(cfg, js, slog.New(slog.DiscardHandler), time.Now))(t)
	if _, err := r.Revoked("x"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("answers before it can know: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-r.Ready():
	case <-time.After(10 * time.Second):
		t.Fatal("not ready")
	}
	return r
}

func eventually(t *testing.T, what string, within time.Duration, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > within {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func revoked(t *testing.T, r *auth.RevokedTokens, jti string) bool {
	t.Helper()
	is := must.Get(r.Revoked(jti))(t)
	return is
}

func TestRevocation(t *testing.T) { // AUTH-S1b, AUTH-L1
	address := testserver.NATS(t)
	one, two := node(t, address), node(t, address)
	until := time.Now().Add(time.Hour)
	if revoked(t, one, "a") || revoked(t, two, "a") {
		t.Fatal("revoked before it was")
	}
	must.Do(t, one.Revoke(t.Context(), "a", until))
	if !revoked(t, one, "a") { // with the next request
		t.Error("not revoked on its own node")
	}
	eventually(t, "revoked on the other node", time.Second, func() bool { return revoked(t, two, "a") })
	if revoked(t, one, "b") || revoked(t, two, "b") {
		t.Error("another token is revoked too")
	}
	if err := two.Revoke(t.Context(), "a", until); fault.KindOf(err) != fault.Unauthenticated { // AUTH-L2
		t.Errorf("revoked twice: %v", err)
	}
	if !revoked(t, node(t, address), "a") {
		t.Error("a new node does not know")
	}
}

func TestRevocationIsDecidedOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	nodes := []*auth.RevokedTokens{node(t, address), node(t, address)}
	var won sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := nodes[i%2].Revoke(context.Background(), "a", time.Now().Add(time.Hour)); err == nil {
				won.Store(i, true)
			} else if fault.KindOf(err) != fault.Unauthenticated {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	won.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d logouts succeeded", n)
	}
}

// Deleting a key does not make a token valid again.
func TestRevocationSurvivesDeletion(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	r := node(t, address)
	must.Do(t, r.Revoke(t.Context(), "a", time.Now().Add(time.Hour)))
	nc := must.Get(nats.Connect(address))(t)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(t)
	kv := must.Get(js.KeyValue(t.Context(), auth.RevocationDefaults().Bucket))(t)
	keys := must.Get(kv.Keys(t.Context()))(t)
	if len(keys) != 1 || len(keys[0]) != 43 {
		t.Fatalf("%v", keys)
	}
	entry := must.Get(kv.Get(t.Context(), keys[0]))(t)
	if string(entry.Key()) == "a" {
		t.Error("the id itself is the key")
	}
	must.Do(t, kv.Purge(t.Context(), keys[0]))
	time.Sleep(300 * time.Millisecond)
	if !revoked(t, r, "a") {
		t.Error("the token is back")
	}
}

// The bucket's entry of a token expires with the token. With the allowance for
// clocks, the entry here lives for a second.
func TestRevocationsExpire(t *testing.T) {
	t.Parallel()
	address := testserver.NATS(t)
	r := node(t, address)
	must.Do(t, r.Revoke(t.Context(), "a", time.Now().Add(-59*time.Second))) // 60 s are added for clock differences
	nc := must.Get(nats.Connect(address))(t)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(t)
	kv := must.Get(js.KeyValue(t.Context(), auth.RevocationDefaults().Bucket))(t)
	eventually(t, "the key expires", 10*time.Second, func() bool {
		keys, err := kv.Keys(t.Context())
		return err == jetstream.ErrNoKeysFound && len(keys) == 0
	})
	eventually(t, "memory forgets", 5*time.Second, func() bool { return !revoked(t, r, "a") })
}

// A node that is cut off refuses every token that it does not know to be
// revoked, and afterwards catches up with what was revoked meanwhile.
func TestRevocationFailsClosed(t *testing.T) {
	t.Parallel()
	address := testserver.NATS(t)
	through, proxied := proxy.Before(t, address)
	far := node(t, proxied, func(c *auth.RevocationConfig) { c.Stale = time.Second })
	near := node(t, address)
	must.Do(t, far.Revoke(t.Context(), "before", time.Now().Add(time.Hour)))
	for round := range 2 {
		through.Refuse()
		jti := fmt.Sprint("meanwhile ", round)
		must.Do(t, near.Revoke(t.Context(), jti, time.Now().Add(time.Hour)))
		eventually(t, "tokens are refused", 3*time.Second, func() bool {
			_, err := far.Revoked("other")
			return fault.KindOf(err) == fault.Unavailable && err != nil
		})
		if !revoked(t, far, "before") {
			t.Error("forgot what it knew")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := far.Revoke(ctx, "unwritable", time.Now().Add(time.Hour)); err == nil || fault.KindOf(err) == fault.Unauthenticated { // AUTH-L0d
			t.Errorf("revoked while cut off: %v", err)
		}
		cancel()
		through.Mend()
		eventually(t, "healed", 10*time.Second, func() bool { _, err := far.Revoked("other"); return err == nil })
		if !revoked(t, far, jti) {
			t.Error("answers before it knows what was revoked meanwhile")
		}
	}
}

// A watch that goes quiet on a live connection is noticed.
func TestRevocationFindsAQuietWatch(t *testing.T) {
	t.Parallel()
	address := testserver.NATS(t)
	r := node(t, address, func(c *auth.RevocationConfig) { c.Stale = time.Second })
	nc := must.Get(nats.Connect(address))(t)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(t)
	name := "KV_" + auth.RevocationDefaults().Bucket
	stream := must.Get(js.Stream(t.Context(), name))(t)
	for consumer := range stream.ListConsumers(t.Context()).Info() {
		must.Do(t, stream.DeleteConsumer(t.Context(), consumer.Name))
	}
	other := node(t, address)
	must.Do(t, other.Revoke(t.Context(), "a", time.Now().Add(time.Hour)))
	eventually(t, "revoked or refused", 3*time.Second, func() bool { is, err := r.Revoked("a"); return is || err != nil })
	eventually(t, "healed", 5*time.Second, func() bool { is, err := r.Revoked("a"); return is && err == nil })
}

// TestRevocationFindsAnotherBucket: what a node has seen of a bucket proves nothing
// about one of the same name that was created after it.
func TestRevocationFindsAnotherBucket(t *testing.T) {
	t.Parallel()
	address := testserver.NATS(t)
	r := node(t, address)
	other := node(t, address)
	for i := range 20 { // its sequences are far ahead of those of the next
		must.Do(t, other.Revoke(t.Context(), fmt.Sprint("old ", i), time.Now().Add(time.Hour)))
	}
	eventually(t, "seen", 5*time.Second, func() bool { is, err := r.Revoked("old 19"); return is && err == nil })
	nc := must.Get(nats.Connect(address))(t)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(t)
	name := "KV_" + auth.RevocationDefaults().Bucket
	stream := must.Get(js.Stream(t.Context(), name))(t)
	again := stream.CachedInfo().Config
	must.Do(t, js.DeleteStream(t.Context(), name))
	must.Get(js.CreateStream(t.Context(), again))(t)
	must.Do(t, other.Revoke(t.Context(), "new", time.Now().Add(time.Hour)))
	eventually(t, "revoked or refused", 6*time.Second, func() bool { is, err := r.Revoked("new"); return is || err != nil })
	eventually(t, "healed", 10*time.Second, func() bool { is, err := r.Revoked("new"); return is && err == nil })
}
