package admission

import (
	"context"
	"sync/atomic"
	"time"

	"preismon/contracts"
)

// Read is one running read, charged to an account.
type Read struct {
	node   *Node
	of     *account
	began  time.Time
	stream bool
	sent   atomic.Int64
	stands *Room // nil: not admitted
	keeps  *Room // nil: nothing
}

// Begin admits a read, and charges what it holds for as long as it lasts.
func (n *Node) Begin(ctx context.Context, stream bool, stands int64) (*Read, error) {
	n.mu.Lock()
	r := &Read{node: n, of: n.enter(accountOf(ctx)), began: time.Now(), stream: stream}
	r.of.reads[r] = struct{}{}
	n.mu.Unlock()
	room := &Room{read: r, class: standing, bytes: stands}
	if err := n.take(ctx, room); err != nil {
		r.End()
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r.stands = room
	return r, nil
}

func (n *Node) enter(id contracts.AccountID) *account {
	a := n.accounts[id]
	if a == nil {
		a = &account{id: id, reads: map[*Read]struct{}{}}
		n.accounts[id] = a
	}
	return a
}

// End gives back the standing charge of the read; its rooms must have been
// released.
func (r *Read) End() {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.stands != nil {
		n.give(r.stands)
		r.stands = nil
	}
	delete(r.of.reads, r)
	if len(r.of.reads) == 0 {
		delete(n.accounts, r.of.id)
	}
	n.grant()
}

// Sent records bytes that the client has received.
func (r *Read) Sent(bytes int64) { r.sent.Add(bytes) }

// Reserve charges memory before it is used, and waits until it fits. The caller
// must not hold another room of the read that is not lent.
func (r *Read) Reserve(ctx context.Context, bytes int64) (*Room, error) {
	room := &Room{read: r, class: r.node.classOf(bytes), bytes: bytes}
	if err := r.node.take(ctx, room); err != nil {
		return nil, err
	}
	return room, nil
}

// TryReserve charges memory if there is room and no charge waits; otherwise it
// returns nil.
func (r *Read) TryReserve(bytes int64) *Room {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	room := &Room{read: r, class: n.classOf(bytes), bytes: bytes}
	if n.waiting > 0 || n.admits(room) != fits {
		return nil
	}
	n.charge(room, bytes)
	return room
}

// Hold charges memory that is already in use, such as that of an answer waiting
// to be sent. It does not wait; lent rooms are reclaimed to make room for it.
func (r *Read) Hold(bytes int64) *Room {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	room := &Room{read: r, class: n.classOf(bytes), bytes: bytes}
	n.found(room, bytes)
	return room
}

// Keep returns an empty room, the only one of the read for what it keeps from
// one part to the next just to be faster. It is resized as that grows, to be
// lent whenever it is not in use, and takes nothing from the reserve for small
// charges.
func (r *Read) Keep() *Room {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	r.keeps = &Room{read: r, class: large}
	return r.keeps
}

// Part returns how many bytes a part of the read may have, so that every stream
// of its account can hold one part while it reads the next, beside what all of
// them keep.
func (r *Read) Part() int64 {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	streams, kept := int64(0), int64(0)
	for o := range r.of.reads {
		if o.stream {
			streams++
		}
		if o.keeps != nil {
			kept += o.keeps.bytes
		}
	}
	return max(0, n.share(r.of, large)-kept) / (2 * max(1, streams))
}

// Resize corrects a charge to the actual size of the memory. It does not wait,
// because the memory is already in use; lent rooms are reclaimed to make room
// for it.
func (m *Room) Resize(bytes int64) {
	n := m.read.node
	n.mu.Lock()
	defer n.mu.Unlock()
	more := bytes - m.bytes
	m.bytes = bytes
	n.found(m, more)
	n.grant()
}

// Lend declares that the memory is not used for now, such as while a client
// receives earlier data. From now on it may be reclaimed: drop releases it.
// drop is called at most once, at any time before TakeBack returns, and must not
// wait for anything.
func (m *Room) Lend(drop func()) {
	if m == nil {
		return
	}
	n := m.read.node
	n.mu.Lock()
	defer n.mu.Unlock()
	m.since, m.drop = time.Now(), drop
	if _, lent := n.lent[m]; !lent {
		n.lent[m] = struct{}{}
		m.read.of.lent++
	}
}

// TakeBack ends the lending; false: the memory was reclaimed.
func (m *Room) TakeBack() bool {
	if m == nil {
		return true
	}
	n := m.read.node
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.takeBack(m)
}

// Release gives the memory back. It may be called repeatedly, and on nil.
func (m *Room) Release() {
	if m == nil {
		return
	}
	n := m.read.node
	n.mu.Lock()
	defer n.mu.Unlock()
	n.give(m)
	n.grant()
}
