package admission

import (
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

// account is what an account holds, and waits for.
type account struct {
	id      contracts.AccountID
	used    [classes]int64
	reads   map[*Read]struct{}
	line    [classes][]*waiter // in order
	waiting int
	lent    int  // rooms
	busy    bool // counted in Node.busy
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
	sharers := n.busy
	if !a.busy {
		sharers++
	}
	return max(0, total) / max(2, sharers)
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
		case n.total()+r.bytes > memory || len(n.lines[large]) > 0:
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

func (n *Node) charge(r *Room, bytes int64) {
	n.used[r.class] += bytes
	r.read.of.used[r.class] += bytes
	n.countBusy(r.read.of)
	n.counts.peak = max(n.counts.peak, n.total())
}

// countBusy keeps the number of accounts that share what there is: those that
// hold some of it, or wait.
func (n *Node) countBusy(a *account) {
	busy := a.moving() > 0 || a.waiting > 0
	switch {
	case busy && !a.busy:
		n.busy++
	case !busy && a.busy:
		n.busy--
	}
	a.busy = busy
}

// found charges what is there already, without waiting. Where that is more than
// the node has, it takes back what is lent.
func (n *Node) found(r *Room, bytes int64) {
	n.charge(r, bytes)
	for n.total() > n.cfg.Memory && n.reclaimFrom(nil) {
	}
}

// reclaim takes back one room that is lent for who waits: of the account itself,
// or of any.
func (n *Node) reclaim(w *waiter, why bound) bool {
	switch {
	case w.room.class == standing, why == ofAccount && w.of.lent == 0:
		return false
	case why == ofAccount:
		return n.reclaimFrom(w.of)
	}
	return n.reclaimFrom(nil)
}

// reclaimFrom takes back one room that is lent: of an account, or for nil of the
// one that holds most; of these the one that was lent first.
func (n *Node) reclaimFrom(a *account) bool {
	var best *Room
	for r := range n.lent {
		switch {
		case time.Since(r.since) < lendGrace, a != nil && r.read.of != a:
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
	r.bytes = 0
	n.takeBack(r)
}

// takeBack ends the lending of a room; false: it is not lent.
func (n *Node) takeBack(r *Room) bool {
	r.drop = nil
	if _, lent := n.lent[r]; !lent {
		return false
	}
	delete(n.lent, r)
	r.read.of.lent--
	return true
}
