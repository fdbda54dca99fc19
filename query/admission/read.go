package admission

import (
	"context"
	"sync/atomic"
	"time"

	"preismon/contracts"
)

// Read is one read under way, charged to an account.
type Read struct {
	node   *Node
	of     *account
	began  time.Time
	stream bool
	sent   atomic.Int64
	stands *Room
}

// Begin admits a read, with what it holds for as long as it lasts.
func (n *Node) Begin(ctx context.Context, stream bool, stands int64) (*Read, error) {
	n.mu.Lock()
	r := &Read{node: n, of: n.enter(accountOf(ctx)), began: time.Now(), stream: stream}
	r.of.reads[r] = struct{}{}
	n.mu.Unlock()
	r.stands = &Room{read: r, class: standing, bytes: stands}
	if err := n.take(ctx, r.stands); err != nil {
		r.stands = nil
		r.End()
		return nil, err
	}
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

// End gives back what the read stands for; its rooms were released before.
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

// Sent notes bytes that the client took.
func (r *Read) Sent(bytes int64) { r.sent.Add(bytes) }

// Reserve charges memory before it is used, and waits for that. Who calls it
// holds no other room of the read that is not lent.
func (r *Read) Reserve(ctx context.Context, bytes int64) (*Room, error) {
	room := &Room{read: r, class: r.node.classOf(bytes), bytes: bytes}
	if err := r.node.take(ctx, room); err != nil {
		return nil, err
	}
	return room, nil
}

// TryReserve charges memory if there is room and nobody waits; else nil.
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

// Hold charges memory that is there already, as of an answer that waits to be
// sent. It does not wait; what is lent makes room for it.
func (r *Read) Hold(bytes int64) *Room {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	room := &Room{read: r, class: n.classOf(bytes), bytes: bytes}
	n.found(room, bytes)
	return room
}

// Part is how many bytes a part of the read may have, so that all reads of its
// account can hold one and read the next.
func (r *Read) Part() int64 {
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	streams := int64(0)
	for o := range r.of.reads {
		if o.stream {
			streams++
		}
	}
	return n.share(r.of, large) / (2 * max(1, streams))
}

// Resize corrects a charge to what the memory turned out to be. It does not
// wait: what is there is there. What is lent makes room for it.
func (m *Room) Resize(bytes int64) {
	n := m.read.node
	n.mu.Lock()
	defer n.mu.Unlock()
	more := bytes - m.bytes
	m.bytes = bytes
	n.found(m, more)
	n.grant()
}

// Lend says that the memory is not used for now, as while a client takes what
// came before. It may be reclaimed from now on: drop lets go of it; it is
// called once, at any time before Take returns, and must wait for nothing.
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

// Take ends the lending; not ok: the memory was reclaimed.
func (m *Room) Take() bool {
	if m == nil {
		return true
	}
	n := m.read.node
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.takeBack(m)
}

// Release gives the memory back. It may be called again, and of nil.
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
