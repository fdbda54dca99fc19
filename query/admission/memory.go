package admission

import (
	"cmp"
	"context"
	"slices"
	"time"

	"preismon/contracts"
)

// class is how a charge counts.
type class uint8

const (
	standing class = iota // for as long as a read lasts, such as its buffers
	small                 // has a reserve of its own
	large
	classes
)

const (
	reserveShare  = 4  // the part of the memory that only small charges have
	smallShare    = 32 // the part up to which a charge is small
	standingShare = 2  // the part that reads may stand for, of all accounts
	ownStanding   = 8  // the part that the reads of one account may stand for

	// lendGrace is how long a client may take nothing before what is held for
	// it can be reclaimed. One that reads takes a chunk in less.
	lendGrace    = 100 * time.Millisecond
	reclaimEvery = 20 * time.Millisecond // as long as anybody waits
)

// account is what an account holds.
type account struct {
	id      contracts.AccountID
	used    [classes]int64
	reads   map[*Read]struct{}
	waiting int
}

func (a *account) moving() int64 { return a.used[small] + a.used[large] }

// Room is memory that is charged to a read. It is used by one goroutine at a
// time.
type Room struct {
	read  *Read
	class class
	bytes int64
	// While it is lent:
	since time.Time
	drop  func()
}

// waiter is a charge that waits.
type waiter struct {
	of    *account
	room  *Room
	ready chan struct{}
	began time.Time
}

func (n *Node) classOf(bytes int64) class {
	if bytes <= n.cfg.Memory/smallShare {
		return small
	}
	return large
}

// share is what an account may hold of a class of memory, beside what its
// reads stand for.
func (n *Node) share(a *account, of class) int64 {
	total := n.cfg.Memory - n.used[standing]
	if of == large {
		total -= n.cfg.Memory / reserveShare
	}
	others := int64(0)
	for _, o := range n.accounts {
		if o != a && (o.moving() > 0 || o.waiting > 0) {
			others++
		}
	}
	return max(0, total) / max(2, others+1)
}

// bound is what a charge does not fit into.
type bound uint8

const (
	fits bound = iota
	ofAccount
	ofNode
)

// admits tells whether a charge fits. One that nothing stands in the way of
// but its own size always does: it will be alone.
func (n *Node) admits(r *Room) bound {
	a, memory := r.read.of, n.cfg.Memory
	switch r.class {
	case standing:
		switch {
		case a.used[standing] > 0 && a.used[standing]+r.bytes > memory/ownStanding:
			return ofAccount
		case n.used[standing] > 0 && n.used[standing]+r.bytes > memory/standingShare:
			return ofNode
		}
		return fits
	case small:
		switch {
		case a.moving() > 0 && a.moving()+r.bytes > n.share(a, small):
			return ofAccount
		case n.used[small]+r.bytes <= memory/reserveShare: // its own, whatever waits
			if n.total()+r.bytes <= memory {
				return fits
			}
			return ofNode
		case n.total()+r.bytes > memory || n.largeWaits():
			return ofNode
		}
		return fits
	}
	switch {
	case a.moving() > 0 && a.moving()+r.bytes > n.share(a, large):
		return ofAccount
	case n.used[large]+n.used[standing]+max(n.used[small], memory/reserveShare)+r.bytes <= memory,
		n.used[large] == 0 && n.total()+r.bytes <= memory, n.used[large]+n.used[small] == 0:
		return fits
	}
	return ofNode
}

func (n *Node) total() int64 { return n.used[standing] + n.used[small] + n.used[large] }

func (n *Node) largeWaits() bool {
	return slices.ContainsFunc(n.waiting, func(w *waiter) bool { return w.room.class == large })
}

func (n *Node) charge(r *Room, bytes int64) {
	n.used[r.class] += bytes
	r.read.of.used[r.class] += bytes
	n.counts.peak = max(n.counts.peak, n.total())
}

// take charges a room, and waits for that. The read holds no other room that
// is not lent, so that reads cannot wait for each other in a circle.
func (n *Node) take(ctx context.Context, r *Room) error {
	n.mu.Lock()
	if !n.ahead(r) && n.admits(r) == fits {
		n.charge(r, r.bytes)
		n.mu.Unlock()
		return nil
	}
	w := &waiter{of: r.read.of, room: r, ready: make(chan struct{}), began: time.Now()}
	n.waiting = append(n.waiting, w)
	w.of.waiting++
	n.grant()
	n.mu.Unlock()

	defer waits(ctx)()
	limit := time.NewTimer(n.cfg.Wait)
	defer limit.Stop()
	again := time.NewTicker(reclaimEvery)
	defer again.Stop()
	for {
		select {
		case <-w.ready:
			return nil
		case <-again.C:
			n.mu.Lock()
			n.grant()
			n.mu.Unlock()
		case <-limit.C:
			return n.giveUp(w, nil)
		case <-ctx.Done():
			return n.giveUp(w, ctx)
		}
	}
}

// ahead tells whether anybody waits whom a room of this size would pass.
func (n *Node) ahead(r *Room) bool {
	return slices.ContainsFunc(n.waiting, func(w *waiter) bool { return w.room.class == r.class && w.of == r.read.of })
}

// giveUp ends a wait; nil where it was granted meanwhile.
func (n *Node) giveUp(w *waiter, ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	default:
	}
	why := n.admits(w.room)
	n.leave(w)
	n.grant()
	if ctx != nil && !deadline(ctx) {
		return context.Cause(ctx)
	}
	return n.refuse(w.of, why, "memory for reads")
}

func (n *Node) leave(w *waiter) {
	n.waiting = slices.DeleteFunc(n.waiting, func(o *waiter) bool { return o == w })
	w.of.waiting--
}

// grant lets in who fits, reclaiming what is lent for those who do not: small
// charges first, then those of the account that holds least, then in their
// order. Who waits for the node keeps later ones of its class waiting, so that
// large charges come to their turn; who waits for its own account does not.
func (n *Node) grant() {
	order := slices.Clone(n.waiting)
	slices.SortStableFunc(order, func(a, b *waiter) int {
		return cmp.Or(cmp.Compare(a.room.class, b.room.class), cmp.Compare(a.of.moving(), b.of.moving()))
	})
	var full [classes]bool
	for _, w := range order {
		if full[w.room.class] {
			continue
		}
		why := n.admits(w.room)
		for why != fits && n.reclaim(w, why) {
			why = n.admits(w.room)
		}
		if why == fits {
			n.leave(w)
			n.charge(w.room, w.room.bytes)
			n.counts.waited += time.Since(w.began)
			close(w.ready)
			continue
		}
		full[w.room.class] = why == ofNode
	}
}

// reclaim takes back one room that is lent: of the account itself, or of the
// one that holds most; of these the one that was lent first.
func (n *Node) reclaim(w *waiter, why bound) bool {
	if w.room.class == standing {
		return false
	}
	var best *Room
	for r := range n.lent {
		switch {
		case time.Since(r.since) < lendGrace, why == ofAccount && r.read.of != w.of:
		case best == nil, r.read.of.moving() > best.read.of.moving(),
			r.read.of == best.read.of && r.since.Before(best.since):
			best = r
		}
	}
	if best == nil {
		return false
	}
	best.drop()
	n.give(best)
	n.counts.reclaimed++
	return true
}

// give takes the charge of a room away.
func (n *Node) give(r *Room) {
	n.charge(r, -r.bytes)
	r.bytes, r.drop = 0, nil
	delete(n.lent, r)
}
