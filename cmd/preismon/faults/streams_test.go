package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/ingest"
)

// Faults of the streams: they are full, lose messages, are recreated.

var streamFaults = []fault{
	{name: "nats-disk-full", core: true, do: func(w *world, rnd *rand.Rand) error {
		if !w.streamsDisk.mounted {
			return natsLimit(w, rnd)
		}
		if err := w.streamsDisk.fullWhile(0, w.unacknowledged); err != nil {
			return err
		}
		// It accepts some messages again at once; where a write has failed,
		// only after a restart.
		return w.restartStreams(upTo(rnd, 300*time.Millisecond))
	}},
	{name: "nats-limit-reached", do: natsLimit},
	{name: "stream-full", do: func(w *world, _ *rand.Rand) error {
		full := func(c *jetstream.StreamConfig, s jetstream.StreamState) { c.MaxBytes = int64(s.Bytes) }
		return w.changed(full, w.unacknowledged)
	}},
	{name: "window-expired", core: true, do: windowExpired},
	{name: "stream-recreated", core: true, alone: true, do: recreated},
	{name: "nats-restored", alone: true, do: restored},
	{name: "leases-lost", do: func(w *world, rnd *rand.Rand) error {
		time.Sleep(upTo(rnd, 300*time.Millisecond))
		return w.streams().DeleteKeyValue(context.Background(), ingest.BucketLeases)
	}},
	{name: "nats-stopped", do: func(w *world, rnd *rand.Rand) error {
		w.mu.Lock()
		p := w.nats.Process()
		w.mu.Unlock()
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(time.Second + upTo(rnd, 4*time.Second))
		return p.Signal(syscall.SIGCONT)
	}},
}

// unacknowledged waits until an event is refused.
func (w *world) unacknowledged() error {
	before := w.producer.pub.Stats().Retries
	return must.Until(patience, "the stream refuses events", func() bool { return w.producer.pub.Stats().Retries > before })
}

// natsLimit starts NATS with hardly any more room than what it holds.
func natsLimit(w *world, rnd *rand.Rand) error {
	account, err := w.streams().AccountInfo(context.Background())
	if err != nil {
		return err
	}
	w.nats.Room = int64(account.Store) + rnd.Int64N(20_000)
	err = w.restartStreams(0)
	if err == nil {
		err = w.unacknowledged()
	}
	w.nats.Room = 0
	return errors.Join(err, w.restartStreams(0))
}

var changing sync.Mutex // one at a time, also in a composition

// changed runs do while OBSERVATIONS has other limits.
func (w *world) changed(change func(*jetstream.StreamConfig, jetstream.StreamState), do func() error) error {
	changing.Lock()
	defer changing.Unlock()
	ctx := context.Background()
	s, err := w.streams().Stream(ctx, event.StreamObservations)
	if err != nil {
		return err
	}
	was := s.CachedInfo().Config
	now := was
	change(&now, s.CachedInfo().State)
	if _, err := w.streams().UpdateStream(ctx, now); err != nil {
		return err
	}
	err = do()
	var last error
	back := must.Until(patience, "the stream is as it was", func() bool {
		if s, last = w.streams().Stream(ctx, event.StreamObservations); last != nil {
			return false
		}
		now := s.CachedInfo().Config // what the projectors wrote into it stays
		now.MaxBytes, now.Duplicates = was.MaxBytes, was.Duplicates
		_, last = w.streams().UpdateStream(ctx, now)
		return last == nil
	})
	if back != nil {
		return errors.Join(err, back, last)
	}
	return err
}

// windowExpired keeps acknowledgements from the producer for longer than the
// stream remembers ids: what the producer sends again is in the stream twice.
func windowExpired(w *world, rnd *rand.Rand) error {
	w.producer.known.Lock()
	defer w.producer.known.Unlock()
	const window = time.Second
	short := func(c *jetstream.StreamConfig, _ jetstream.StreamState) { c.Duplicates = window }
	return w.changed(short, func() error {
		ctx := context.Background()
		end, err := ingest.End(ctx, w.streams(), event.StreamObservations)
		if err != nil {
			return err
		}
		defer func() {
			w.producerStreams.Reset()
			w.producerStreams.Heal()
		}()
		w.producerStreams.Set(proxy.Down, proxy.Rule{Then: proxy.Hold})
		var stored uint64
		err = must.Until(patience, "the stream has events without its producer knowing", func() bool {
			stored, err = ingest.End(ctx, w.streams(), event.StreamObservations)
			return err == nil && stored > end
		})
		if err != nil {
			return err
		}
		w.producerStreams.Set(proxy.Up, proxy.Rule{Then: proxy.Hold})
		time.Sleep(2*window + upTo(rnd, window))
		w.producerStreams.Reset()
		w.producerStreams.Heal()
		return must.Until(patience, "events stand in the stream twice", func() bool {
			twice, err := w.twice(ctx, end+1)
			return err == nil && twice
		})
	})
}

// twice reports whether a message id is in OBSERVATIONS twice, from a sequence
// on.
func (w *world) twice(ctx context.Context, from uint64) (bool, error) {
	s, err := w.streams().Stream(ctx, event.StreamObservations)
	if err != nil {
		return false, err
	}
	seen := map[string]bool{}
	for seq := from; seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if err != nil {
			return false, err
		}
		id := m.Header.Get(jetstream.MsgIDHeader)
		if seen[id] {
			return true, nil
		}
		seen[id] = true
	}
	return false, nil
}

// waitApplied pauses the producer and waits until everything acknowledged is in the
// tables: whatever happens to the stream then loses nothing.
func (w *world) waitApplied() error {
	if err := w.producer.pause(healed); err != nil {
		return err
	}
	var last error
	err := must.Until(healed, "everything acknowledged is in the tables", func() bool {
		lost, err := w.lacking(context.Background(), w.since)
		last = err
		return err == nil && lost == 0
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// recreated deletes OBSERVATIONS and creates it again: its sequences restart.
func recreated(w *world, rnd *rand.Rand) error {
	if err := w.waitApplied(); err != nil {
		return err
	}
	defer w.producer.resume()
	ctx := context.Background()
	s, err := w.streams().Stream(ctx, event.StreamObservations)
	if err != nil {
		return err
	}
	// An incarnation is identified by the second in which it was created.
	if err := must.Until(patience, "a second has passed", func() bool { return time.Now().Unix() > s.CachedInfo().Created.Unix() }); err != nil {
		return err
	}
	if err := w.streams().DeleteStream(ctx, event.StreamObservations); err != nil {
		return err
	}
	time.Sleep(upTo(rnd, 500*time.Millisecond))
	_, err = retried(func() (any, error) { return nil, ingest.EnsureStreams(ctx, w.streams(), ingest.StreamConfig{}) })
	return err
}

// restored kills NATS and restores the folder that it had a while ago, as after
// a power cut or from a backup: streams lack their tail, and so do the leases.
// Everything was applied before, and must stay.
func restored(w *world, rnd *rand.Rand) error {
	if err := w.waitApplied(); err != nil {
		return err
	}
	defer w.producer.resume()
	old := w.nats.Dir + ".old"
	defer os.RemoveAll(old) //nolint:errcheck // in a test
	w.mu.Lock()
	p := w.nats.Process()
	w.mu.Unlock()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := os.CopyFS(old, os.DirFS(w.nats.Dir))
	if err := errors.Join(err, p.Signal(syscall.SIGCONT)); err != nil {
		return err
	}
	end, err := ingest.End(context.Background(), w.streams(), event.StreamObservations)
	if err != nil {
		return err
	}
	w.producer.resume()
	err = must.Until(patience, "more is published", func() bool {
		now, err := ingest.End(context.Background(), w.streams(), event.StreamObservations)
		return err == nil && now > end
	})
	if err == nil && rnd.IntN(2) == 0 {
		// The next leader's fence is not in the copy.
		leader, standby, noLeader := w.leader()
		if err = noLeader; err == nil {
			leader.Kill()
			err = errors.Join(must.Until(patience, "the standby leads", standby.Leads), restart(leader))
		}
	}
	if err := errors.Join(err, w.waitApplied()); err != nil {
		return err
	}
	err = w.restartStreamsIn(0, func() error {
		w.tokens.forget() // the copy does not contain revocations since then
		if err := emptied(w.nats.Dir); err != nil {
			return err
		}
		return os.CopyFS(w.nats.Dir, os.DirFS(old))
	})
	if err != nil {
		return fmt.Errorf("restore NATS: %w", err)
	}
	return nil
}

// emptied removes the content of a folder, which may be a mount.
func emptied(dir string) error {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		err = errors.Join(err, os.RemoveAll(dir+"/"+e.Name()))
	}
	return err
}
