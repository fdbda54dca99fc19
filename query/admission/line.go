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

// take charges a room, and waits for that. The read holds no other room that
// is not lent, so that reads cannot wait for each other in a circle.
func (n *Node) take(ctx context.Context, r *Room) error {
	n.mu.Lock()
	a := r.read.of
	// Nobody passes who waits for the same; what holds nothing waits for nobody.
	if r.bytes == 0 || len(a.line[r.class]) == 0 && n.admits(r) == fits {
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

// enqueue puts a charge in line, and sees to it that what is lent is reclaimed as
// long as there is one.
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

// reclaimNow lets in who fits when what was lent has been long enough.
func (n *Node) reclaimNow() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.grant()
	if n.waiting > 0 {
		n.reclaiming.Reset(reclaimEvery)
	}
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

// grant lets in who fits, reclaiming what is lent for those who do not: small
// charges first, then those of the account that holds least, then in their
// order. Who waits for the node keeps later ones of its class waiting, so that
// large charges come to their turn; who waits for its own account does not.
//
// It is called at each change, under the lock of all reads: it looks once at who
// waits, for each that it lets in.
func (n *Node) grant() {
	for class := range classes {
		for n.letIn(class) {
		}
	}
}

// letIn lets in whose turn it is in a class, or reclaims one room for it; false:
// neither can be done.
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

// first is whose turn it is of those that do not wait for their own account, and
// what stands in its way.
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

// firstOf is the first one of an account that does not wait for it; nil: there is
// none.
func (n *Node) firstOf(a *account, class class) (*waiter, bound) {
	for _, w := range a.line[class] {
		if why := n.admits(w.room); why != ofAccount {
			return w, why
		}
	}
	return nil, ofAccount
}

// reclaimOwn takes back a room that an account lent which waits for its share.
func (n *Node) reclaimOwn(class class) bool {
	return slices.ContainsFunc(n.lines[class], func(a *account) bool { return n.reclaim(a.line[class][0], ofAccount) })
}
