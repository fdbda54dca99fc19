package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// BucketLeases is the key-value bucket of the leases.
const BucketLeases = "preismon_leases"

// ErrLeaseLost is the cause of the end of a leader's context when its lease ran
// out or another process took it.
var ErrLeaseLost = errors.New("the lease is lost")

// LeaseConfig configures a lease; 0 selects the default.
type LeaseConfig struct {
	Key      string        // ProjectorLease
	Holder   string        // who requests it, for people; the host's name and the process id
	TTL      time.Duration // a leader that is not heard from for so long is deposed; 10 s
	Replicas int           // of the bucket, at least; 1
	// Alone: the caller knows that no other process is running, for example
	// from a folder's lock. A lease found at the start then belongs to a dead
	// process, and is taken over at once.
	Alone bool
	// Force: take the lease at the start, whichever process holds it. That
	// leader notices, ends, and requests it again.
	Force bool
	// Newest reads the newest fence that the tables know; nil: it is not read.
	// It is called after they refused a leader whose lease no other process had
	// taken.
	Newest func(ctx context.Context) (uint64, error)
}

func (c LeaseConfig) withDefaults() LeaseConfig {
	c.TTL = cmp.Or(c.TTL, 10*time.Second)
	c.Replicas = cmp.Or(c.Replicas, 1)
	if c.Holder == "" {
		host, _ := os.Hostname()
		c.Holder = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	return c
}

// Validate returns every fault of the configuration.
func (c LeaseConfig) Validate() error {
	var f contracts.Faults
	c = c.withDefaults()
	f.Check(c.Key != "", "lease key: missing")
	f.Check(c.TTL >= 300*time.Millisecond, "lease ttl: %s is shorter than 300ms", c.TTL)
	f.Check(c.Replicas >= 1, "lease replicas: not positive")
	return f.Err()
}

// Lease lets one process at a time lead. The leader renews its entry in a
// key-value bucket; a standby takes over by compare-and-set when it has seen no
// renewal for the TTL by its own clock. A leader that could not renew stops a
// tenth of the TTL before any standby may begin, counted from before its last
// renewal was sent, so clocks need to agree only in rate. A process that was
// frozen can still believe for a moment that it leads: what it then writes must
// be recognized by its fence.
type Lease struct {
	c   LeaseConfig
	js  jetstream.JetStream
	log *slog.Logger
	kv  jetstream.KeyValue
	// before is the base of the fences of this bucket. It is greater than any
	// fence of an earlier bucket that was lost, if the clock of NATS was right
	// both times.
	before  uint64
	refuted uint64 // the newest fence of the tables, if they refused one of ours
}

// NewLease returns a lease; RunAsLeader requests it.
func NewLease(c LeaseConfig, js jetstream.JetStream, log *slog.Logger) (*Lease, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	c = c.withDefaults()
	return &Lease{c: c, js: js, log: log.With("lease", c.Key, "holder", c.Holder)}, nil
}

// RunAsLeader waits for the lease, runs lead while it holds it, and requests it
// again when it was lost. lead gets a fence, which is higher than that of every
// earlier leader even if the bucket was lost meanwhile, and a context that ends
// with ErrLeaseLost as its cause; it must return soon after. When lead returns
// by itself, its error is returned, unless it is event.ErrDeposed: however
// another leader got a newer fence, this term is over, and the lease is
// requested again after the TTL. When ctx ends, RunAsLeader returns nil after
// lead has returned; the lease is given back, so that a standby need not wait.
func (l *Lease) RunAsLeader(ctx context.Context, lead func(ctx context.Context, fence uint64) error) error {
	for {
		// A name of its own for each term: an entry with it is certainly ours.
		holder := l.c.Holder + "/" + nuid.Next()
		l.kv = nil // it may have been recreated
		held, sent, ok := l.acquire(ctx, holder)
		if !ok {
			return nil
		}
		fence := held.base + held.revision
		l.c.Alone, l.c.Force = false, false // at the start only: from now on another process may rightly hold it
		l.log.Info("leading", "fence", fence)
		lost, back, err := l.term(ctx, term{held, fence, sent}, lead)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, event.ErrDeposed):
			l.log.Warn("lease given up: a leader with a newer fence has begun", "fence", fence, "error", err)
			if back {
				l.learn(ctx)
			}
			sleep(ctx, l.c.TTL)
			continue
		case !lost:
			return err
		}
		l.log.Warn("lease lost", "fence", fence, "error", err)
	}
}

// bucket opens the bucket, and creates it if it does not exist.
func (l *Lease) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	if l.kv != nil {
		return l.kv, nil
	}
	kv, err := l.js.KeyValue(ctx, BucketLeases)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: BucketLeases, Description: "who leads", History: 1, Replicas: l.c.Replicas, Storage: jetstream.FileStorage,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = l.js.KeyValue(ctx, BucketLeases)
		}
	}
	if err != nil {
		return nil, err
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, err
	}
	s, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return nil, errors.New("the bucket of the leases reports no status")
	}
	if c := s.StreamInfo().Config; c.Replicas < l.c.Replicas {
		c.Replicas = l.c.Replicas
		if _, err := l.js.UpdateStream(ctx, c); err != nil {
			return nil, fmt.Errorf("more replicas of the leases: %w", err)
		}
	}
	l.kv, l.before = kv, uint64(s.StreamInfo().Created.UnixMilli())<<revisionBits
	return kv, nil
}

// revisionBits is how many bits of a fence are left for the revisions of one
// bucket. More revisions than that would only make the bucket look some
// milliseconds younger.
const revisionBits = 22

// entry is the lease as stored in the bucket.
type entry struct {
	holder   string // empty: it was given back
	base     uint64 // what fences are counted from: it never falls from one entry to the next
	revision uint64 // 0: there never was one
}

// text returns the holder, and the base where it is not the bucket's own.
func (e entry) text(before uint64) []byte {
	if e.base <= before {
		return []byte(e.holder)
	}
	return fmt.Appendf(nil, "%s#%d", e.holder, e.base)
}

func (l *Lease) entryOf(e jetstream.KeyValueEntry) entry {
	out := entry{holder: string(e.Value()), base: l.before, revision: e.Revision()}
	if i := strings.LastIndexByte(out.holder, '#'); i >= 0 {
		if base, err := strconv.ParseUint(out.holder[i+1:], 10, 64); err == nil {
			out.holder, out.base = out.holder[:i], max(base, l.before)
		}
	}
	return out
}

// acquire waits until the lease is ours; not ok: ctx ended first. sent is when
// the write that took it was sent.
func (l *Lease) acquire(ctx context.Context, holder string) (held entry, sent time.Time, ok bool) {
	var (
		seen  uint64    // revision of the entry
		since time.Time // when we first saw it
		fails int
	)
	for ctx.Err() == nil {
		inner, cancel := context.WithTimeout(ctx, l.c.TTL/2)
		found, free, err := l.free(inner, &seen, &since)
		if err == nil && free {
			sent = time.Now()
			held, err = l.take(inner, holder, found)
			if err == nil {
				cancel()
				return held, sent, true
			}
			if WrongLastSequence(err) {
				err = nil // another process was quicker, or the reply to our own write was lost
			}
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, nats.ErrNoResponders) {
				l.kv = nil
			}
			if fails++; fails%20 == 1 {
				l.log.Warn("asking for the lease failed", "error", err)
			}
		}
		sleep(ctx, min(l.c.TTL/10, time.Second))
	}
	return entry{}, sent, false
}

// free reports whether the lease is free, and returns the entry that shows it.
func (l *Lease) free(ctx context.Context, seen *uint64, since *time.Time) (found entry, free bool, err error) {
	kv, err := l.bucket(ctx)
	if err != nil {
		return entry{}, false, err
	}
	e, err := kv.Get(ctx, l.c.Key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return entry{base: l.before}, true, nil
	}
	if err != nil {
		return entry{}, false, err
	}
	found = l.entryOf(e)
	switch {
	case found.holder == "":
		return found, true, nil
	case *seen == 0 && (l.c.Alone || l.c.Force):
		return found, true, nil
	case found.revision != *seen:
		if *seen == 0 {
			l.log.Info("standing by", "leader", found.holder)
		}
		*seen, *since = found.revision, time.Now()
	}
	return found, time.Since(*since) >= l.c.TTL, nil
}

// take replaces the entry that was found with ours.
func (l *Lease) take(ctx context.Context, holder string, found entry) (entry, error) {
	ours := entry{holder: holder, base: max(found.base, l.refuted)}
	var err error
	if found.revision == 0 {
		ours.revision, err = l.kv.Create(ctx, l.c.Key, ours.text(l.before))
	} else {
		ours.revision, err = l.kv.Update(ctx, l.c.Key, ours.text(l.before), found.revision)
	}
	return ours, err
}

// term is one period of leading, starting with the write that took the lease.
type term struct {
	held  entry
	fence uint64
	sent  time.Time
}

// term runs lead once and renews the lease meanwhile. back reports that the
// lease was given back, so no other process had taken it before.
func (l *Lease) term(ctx context.Context, t term, lead func(context.Context, uint64) error) (lost, back bool, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The deadline is separate from the renewal, which may hang in a write.
	deadline := time.AfterFunc(time.Until(l.deadline(t.sent)), func() { cancel(ErrLeaseLost) })
	defer deadline.Stop()

	renewed := make(chan uint64, 1)
	go func() { renewed <- l.renew(inner, t.held, deadline, cancel) }()
	err = lead(inner, t.fence)
	lost = errors.Is(context.Cause(inner), ErrLeaseLost)
	cancel(nil)
	revision := <-renewed
	if !lost {
		// Give it back; a standby that does not learn of it waits for the TTL.
		last, done := context.WithTimeout(context.WithoutCancel(ctx), l.c.TTL/2)
		defer done()
		if err := l.giveBack(last, t.held, revision); err != nil {
			l.log.Warn("giving the lease back failed", "error", err)
		} else {
			back = true
		}
	}
	return lost, back, err
}

// giveBack writes that nobody holds the lease. The last renewal may have been
// written although its reply did not come before the term ended: then the lease
// is still ours, by a newer revision.
func (l *Lease) giveBack(ctx context.Context, held entry, revision uint64) error {
	none := entry{base: held.base}.text(l.before)
	_, err := l.kv.Update(ctx, l.c.Key, none, revision)
	if !WrongLastSequence(err) {
		return err
	}
	e, failed := l.kv.Get(ctx, l.c.Key)
	if failed != nil || !bytes.Equal(e.Value(), held.text(l.before)) {
		return errors.Join(err, failed)
	}
	_, err = l.kv.Update(ctx, l.c.Key, none, e.Revision())
	return err
}

// learn reads the fence for which the tables refused ours although no other
// process has taken the lease since: either the bucket was restored from an old
// copy and counts its revisions again, or an earlier bucket was created by a
// clock that was ahead. The next term counts from there, and so does every
// later one.
func (l *Lease) learn(ctx context.Context) {
	if l.c.Newest == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.c.TTL/2)
	defer cancel()
	newest, err := l.c.Newest(ctx)
	if err != nil {
		l.log.Warn("asking the tables for their newest fence failed", "error", err)
		return
	}
	l.refuted = max(l.refuted, newest)
	l.log.Warn("the tables know a newer fence than the leases: the next one is counted from it", "newest", newest)
}

func (l *Lease) deadline(sent time.Time) time.Time { return sent.Add(l.c.TTL - l.c.TTL/10) }

// renew keeps the lease until ctx ends or the lease is lost, and returns the
// last revision.
func (l *Lease) renew(ctx context.Context, held entry, deadline *time.Timer, cancel context.CancelCauseFunc) uint64 {
	wait, revision, text := l.c.TTL/3, held.revision, held.text(l.before)
	for sleep(ctx, wait) {
		sent := time.Now()
		inner, done := context.WithTimeout(ctx, l.c.TTL/3)
		next, err := l.kv.Update(inner, l.c.Key, text, revision)
		if WrongLastSequence(err) {
			// It is still ours if only the reply to an earlier write was lost.
			var e jetstream.KeyValueEntry
			if e, err = l.kv.Get(inner, l.c.Key); err == nil && !bytes.Equal(e.Value(), text) {
				done()
				cancel(ErrLeaseLost)
				return revision
			}
			if err == nil {
				revision, wait = e.Revision(), 0 // and one more time, to know when
				done()
				continue
			}
		}
		done()
		if err != nil {
			if ctx.Err() == nil {
				l.log.Warn("renewing the lease failed", "error", err)
			}
			wait = l.c.TTL / 20
			continue
		}
		revision, wait = next, l.c.TTL/3
		if !deadline.Reset(time.Until(l.deadline(sent))) {
			cancel(ErrLeaseLost) // too late
			return revision
		}
	}
	return revision
}
