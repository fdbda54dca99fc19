package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
)

// sharedSemaphore counts the reads that run on all nodes together. How many each
// node runs for an account is kept in the bucket of the counters and changes
// there only by compare and set. A node's entry is valid for slotTerm, so that
// the slots of a node that died become free. A node that cannot reach the
// bucket counts alone.
type sharedSemaphore struct {
	most   int
	node   string
	bucket *bucket
	now    func() time.Time

	mu    sync.Mutex
	byKey map[string]*slots
}

const (
	slotsPrefix = "heavy."
	slotTerm    = 15 * time.Second
	slotRenewal = slotTerm / 3

	// A read that finds no slot tries again: the end of another read may not
	// have been written yet.
	slotTries = 4
	slotPause = 15 * time.Millisecond
)

// slots are the slots of one account, as this node knows them.
type slots struct {
	bucketMu sync.Mutex // held by the read that uses the bucket
	key      string

	used      time.Time
	running   int // on this node
	published int // how many the bucket says run on this node
	until     time.Time
	seen      holders
	revision  uint64 // of seen; 0: not in the bucket
}

// holders record how many reads each node runs.
type holders []holder

type holder struct {
	node  string
	runs  int
	until time.Time
}

func (h holders) text() []byte {
	var b strings.Builder
	for _, o := range h {
		fmt.Fprintf(&b, "%s %d %d\n", o.node, o.runs, o.until.UnixMilli())
	}
	return []byte(b.String())
}

func parseHolders(text []byte) (all holders, err error) {
	for line := range strings.Lines(string(text)) {
		var h holder
		var ms int64
		if _, err := fmt.Sscanf(line, "%s %d %d\n", &h.node, &h.runs, &ms); err != nil {
			return nil, fmt.Errorf("heavy reads %q: %w", line, err)
		}
		h.until = time.UnixMilli(ms)
		all = append(all, h)
	}
	return all, nil
}

// others returns the holders other than node whose term is not over, and how
// many reads they run.
func (h holders) others(node string, now time.Time) (left holders, runs int) {
	for _, o := range h {
		if o.node != node && now.Before(o.until) {
			left, runs = append(left, o), runs+o.runs
		}
	}
	return left, runs
}

func newSharedSemaphore(most int, node string, b *bucket, now func() time.Time) *sharedSemaphore {
	return &sharedSemaphore{most: most, node: node, bucket: b, now: now, byKey: map[string]*slots{}}
}

func (p *sharedSemaphore) take(account contracts.AccountID) (func(), bool) {
	s := p.of(account)
	for try := 1; ; try++ {
		if p.tryTake(s) {
			return func() { p.release(s) }, true
		}
		if try == slotTries {
			return nil, false
		}
		time.Sleep(slotPause)
	}
}

// of returns what is known of an account; it stays known while it is in use.
func (p *sharedSemaphore) of(account contracts.AccountID) *slots {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := slotsPrefix + account.String()
	s := p.byKey[key]
	if s == nil {
		s = &slots{key: key}
		p.byKey[key] = s
	}
	s.used = p.now()
	return s
}

// tryTake takes one slot if there is one.
func (p *sharedSemaphore) tryTake(s *slots) bool {
	s.bucketMu.Lock()
	defer s.bucketMu.Unlock()
	p.mu.Lock()
	if s.running >= p.most || s.running < s.published && p.now().Before(s.until) { // a read that has just ended here is not written yet
		granted := s.running < p.most
		if granted {
			s.running++
		}
		p.mu.Unlock()
		return granted
	}
	p.mu.Unlock()
	granted := false
	err := p.bucket.use(func(ctx context.Context, kv jetstream.KeyValue) (err error) {
		granted, err = p.write(ctx, kv, s, 1)
		return err
	})
	granted = granted || err != nil // out of reach: this node counts alone
	if granted {
		p.mu.Lock()
		s.running++
		p.mu.Unlock()
	}
	return granted
}

// release frees a slot. The caller does not wait until the other nodes know.
func (p *sharedSemaphore) release(s *slots) {
	p.mu.Lock()
	s.running--
	p.mu.Unlock()
	go func() {
		s.bucketMu.Lock()
		defer s.bucketMu.Unlock()
		_ = p.bucket.use(func(ctx context.Context, kv jetstream.KeyValue) error {
			_, err := p.write(ctx, kv, s, 0)
			return err
		})
	}()
}

// write records in the bucket how many reads run here, including more that are
// about to begin. If more is above 0 and there are not enough slots for all,
// it records nothing and returns false. s.bucketMu must be held.
func (p *sharedSemaphore) write(ctx context.Context, kv jetstream.KeyValue, s *slots, more int) (done bool, err error) {
	for refreshed := false; ; {
		p.mu.Lock()
		now := p.now()
		runs, seen, revision := s.running+more, s.seen, s.revision
		fresh := s.published == runs && (runs == 0 || now.Before(s.until.Add(slotRenewal-slotTerm)))
		p.mu.Unlock()
		if fresh {
			return true, nil
		}
		next, elsewhere := seen.others(p.node, now)
		if more > 0 && runs+elsewhere > p.most {
			if refreshed {
				return false, nil
			}
			refreshed = true
			if err := p.refresh(ctx, kv, s); err != nil {
				return false, err
			}
			continue
		}
		until := now.Add(slotTerm)
		if runs > 0 {
			next = append(next, holder{p.node, runs, until})
		}
		written, err := write(ctx, kv, s.key, next.text(), revision)
		if err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			s.published, s.until = runs, until
			if written > s.revision {
				s.seen, s.revision = next, written
			}
			return true, nil
		}
		if !conflict(err) {
			return false, err
		}
		if err := p.refresh(ctx, kv, s); err != nil {
			return false, err
		}
		refreshed = true
	}
}

// refresh reads the current entry from the bucket.
func (p *sharedSemaphore) refresh(ctx context.Context, kv jetstream.KeyValue, s *slots) error {
	seen, revision, err := read(ctx, kv, s.key, parseHolders)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.seen, s.revision = seen, revision
	return nil
}

// observe applies an update from the watch.
func (p *sharedSemaphore) observe(entry jetstream.KeyValueEntry) {
	seen, err := parseHolders(entry.Value())
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.byKey[entry.Key()]; s != nil && entry.Revision() > s.revision {
		s.seen, s.revision = seen, entry.Revision()
	}
}

// renew renews what this node has written, and forgets accounts that no longer
// read.
func (p *sharedSemaphore) renew(ctx context.Context, kv jetstream.KeyValue) error {
	p.mu.Lock()
	var held []*slots
	for key, s := range p.byKey {
		switch {
		case s.running > 0 || s.published > 0:
			held = append(held, s)
		case p.now().Sub(s.used) > slotTerm:
			delete(p.byKey, key)
		}
	}
	p.mu.Unlock()
	for _, s := range held {
		s.bucketMu.Lock()
		_, err := p.write(ctx, kv, s, 0)
		s.bucketMu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *sharedSemaphore) free(account contracts.AccountID) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.byKey[slotsPrefix+account.String()]
	if s == nil {
		return p.most
	}
	_, elsewhere := s.seen.others(p.node, p.now())
	return max(0, p.most-s.running-elsewhere)
}
