package admission

import (
	"context"
	"slices"
	"time"
)

// waiter is a charge that waits.
type waiter struct {
	of    *account
	room  *Room
	ready chan struct{}
	began time.Time
}

// take charges a room, and waits until it fits. The read must not hold another
// room that is not lent, so that reads cannot wait for each other in a circle.
func (n *Node) take(ctx context.Context, r *Room) error {
	n.mu.Lock()
	a := r.read.of
	// A charge overtakes neither its account's waiting charges of the same class
	// nor those of others that wait for the node. An empty charge never waits.
	if r.bytes == 0 || len(a.line[r.class]) == 0 && n.admits(r) == fits && !n.waitsForNode(r.class) {
		n.charge(r, r.bytes)
		n.mu.Unlock()
		return nil
	}
	w := &waiter{of: a, room: r, ready: make(chan struct{}), began: time.Now()}
	n.enqueue(w)
	n.grant()
	n.mu.Unlock()

	defer waits(ctx)()
	limit := time.NewTimer(n.cfg.Wait)
	defer limit.Stop()
	select {
	case <-w.ready:
		return nil
	case <-limit.C:
		return n.giveUp(w, nil)
	case <-ctx.Done():
		return n.giveUp(w, ctx)
	}
}

// enqueue puts a charge in line, and makes sure that lent rooms are reclaimed
// as long as any charge waits.
func (n *Node) enqueue(w *waiter) {
	class := w.room.class
	if len(w.of.line[class]) == 0 {
		n.lines[class] = append(n.lines[class], w.of)
	}
	w.of.line[class] = append(w.of.line[class], w)
	w.of.waiting++
	n.countBusy(w.of)
	if n.waiting++; n.waiting == 1 {
		n.reclaiming.Reset(reclaimEvery)
	}
}

func (n *Node) leave(w *waiter) {
	class := w.room.class
	w.of.line[class] = slices.DeleteFunc(w.of.line[class], func(o *waiter) bool { return o == w })
	if len(w.of.line[class]) == 0 {
		n.lines[class] = slices.DeleteFunc(n.lines[class], func(a *account) bool { return a == w.of })
	}
	w.of.waiting--
	n.countBusy(w.of)
	n.waiting--
}

// reclaimNow tries again to let charges in: rooms may now have been lent for
// long enough to be reclaimed.
func (n *Node) reclaimNow() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.grant()
	if n.waiting > 0 {
		n.reclaiming.Reset(reclaimEvery)
	}
}

// giveUp ends a wait; nil: the charge has been granted in the meantime.
func (n *Node) giveUp(w *waiter, ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	default:
	}
	why := n.admits(w.room)
	if why == fits { // behind another account's
		why = ofNode
	}
	n.leave(w)
	n.grant()
	if ctx != nil && !deadline(ctx) {
		return context.Cause(ctx)
	}
	return n.refuse(w.of, why, "memory for reads")
}

// grant lets in the charges that fit, reclaiming lent rooms for those that do
// not: small charges before large ones, then those of the account that holds
// least, then in order of arrival. A charge that waits for the node keeps later
// ones of its class waiting, so that large charges get their turn; a charge
// that waits for its own account does not.
//
// grant is called at each change, under the lock of all reads: it goes through
// the waiting charges once for each charge that it lets in.
func (n *Node) grant() {
	for class := range classes {
		for n.letIn(class) {
		}
	}
}

// letIn lets in the next charge of a class, or reclaims one room for it; false:
// neither is possible.
func (n *Node) letIn(class class) bool {
	w, why := n.first(class)
	switch {
	case w == nil:
		return n.reclaimOwn(class)
	case why != fits:
		return n.reclaim(w, why)
	}
	n.leave(w)
	n.charge(w.room, w.room.bytes)
	n.counts.waited += time.Since(w.began)
	close(w.ready)
	return true
}

// first returns the next charge among those that do not wait for their own
// account, and the limit that it exceeds.
func (n *Node) first(class class) (first *waiter, why bound) {
	for _, a := range n.lines[class] {
		if first != nil && a.moving() > first.of.moving() {
			continue
		}
		w, bound := n.firstOf(a, class)
		if w != nil && (first == nil || a.moving() < first.of.moving() || w.began.Before(first.began)) {
			first, why = w, bound
		}
	}
	return first, why
}

// waitsForNode reports whether a charge of a class waits for the memory of the
// node.
func (n *Node) waitsForNode(class class) bool {
	w, _ := n.first(class)
	return w != nil
}

// firstOf returns the first charge of an account that does not wait for the
// account's own share; nil: there is none.
func (n *Node) firstOf(a *account, class class) (*waiter, bound) {
	for _, w := range a.line[class] {
		if why := n.admits(w.room); why != ofAccount {
			return w, why
		}
	}
	return nil, ofAccount
}

// reclaimOwn takes back a room lent by an account that waits for its own share.
func (n *Node) reclaimOwn(class class) bool {
	return slices.ContainsFunc(n.lines[class], func(a *account) bool { return n.reclaim(a.line[class][0], ofAccount) })
}
