package admission

import (
	"time"

	"preismon/contracts"
)

// class determines how a charge counts.
type class uint8

const (
	standing class = iota // for as long as a read lasts, such as its buffers
	small                 // has a reserve of its own
	large
	classes
)

const (
	reserveShare  = 4  // 1/reserveShare of the memory is for small charges only
	smallShare    = 32 // a charge of up to 1/smallShare of the memory is small
	standingShare = 2  // the standing charges of all accounts may take 1/standingShare of the memory
	ownStanding   = 8  // the standing charges of one account may take 1/ownStanding of the memory

	// lendGrace is how long a client may receive nothing before what is held
	// for it can be reclaimed. A client that reads takes a chunk in less time.
	lendGrace    = 100 * time.Millisecond
	reclaimEvery = 20 * time.Millisecond // as long as a charge waits
)

// account is what an account holds and waits for.
type account struct {
	id      contracts.AccountID
	used    [classes]int64
	reads   map[*Read]struct{}
	line    [classes][]*waiter // in order of arrival
	waiting int
	lent    int  // rooms that are lent
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

// share returns how much memory of a class an account may hold, in addition to
// its standing charges.
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

// bound is the limit that a charge exceeds.
type bound uint8

const (
	fits bound = iota
	ofAccount
	ofNode
)

// admits returns the limit that a charge exceeds, or fits. A charge that
// exceeds a limit only because of its own size fits when nothing else is held:
// it will be alone.
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
		case n.used[small]+r.bytes <= memory/reserveShare: // within the reserve, whatever else waits
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

// countBusy maintains the number of accounts that share the memory: those that
// hold some of it (other than standing charges) or wait for it.
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

// found charges memory that is already in use, without waiting. If the node
// then holds more than it has, rooms that are lent are reclaimed.
func (n *Node) found(r *Room, bytes int64) {
	n.charge(r, bytes)
	for n.total() > n.cfg.Memory && n.reclaimFrom(nil) {
	}
}

// reclaim takes back one lent room for a waiting charge: one of its own
// account, or one of any account.
func (n *Node) reclaim(w *waiter, why bound) bool {
	switch {
	case w.room.class == standing, why == ofAccount && w.of.lent == 0:
		return false
	case why == ofAccount:
		return n.reclaimFrom(w.of)
	case w.room.class == small && n.total()+w.room.bytes <= n.cfg.Memory: // it waits for a large charge, not for memory
		return false
	}
	return n.reclaimFrom(nil)
}

// reclaimFrom takes back one lent room: of the given account, or, if that is
// nil, of the account that holds most; among those, the room that was lent
// first.
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

// give gives back the charge of a room.
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
