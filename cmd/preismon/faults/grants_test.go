package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// Pairs that are granted to a mandate and revoked again, and what it may see of
// them when.

// extra are the items of an order that come and go.
var extra = map[uint64]struct{ first, last contracts.ItemID }{grantee: {11, 14}}

// grantee is the mandate whose pairs come and go.
const grantee = 1

// mayGet reports whether a row is of a pair that comes and goes for a mandate.
func mayGet(mandate uint64, f *fact) bool {
	e, ok := extra[mandate]
	return ok && f.item >= e.first && f.item <= e.last && inScope(scopes[mandate].sites, f.site)
}

// grants are the times at which the extra pairs could be seen: from before the
// grant was sent until the revocation was in force.
type grants struct {
	mu    sync.Mutex
	spans []span
}

type span struct{ from, to time.Time } // to is zero while it lasts

func (g *grants) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spans = append(g.spans, span{from: time.Now()})
}

func (g *grants) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.spans {
		if g.spans[i].to.IsZero() {
			g.spans[i].to = time.Now()
		}
	}
}

func (g *grants) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.spans) > 0 && g.spans[len(g.spans)-1].to.IsZero()
}

// within reports whether there was a grant at any time since a moment.
func (g *grants) within(asked time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.spans {
		if s.to.IsZero() || !s.to.Before(asked) {
			return true
		}
	}
	return false
}

// orderOf is the order of a mandate, with or without its extra items.
func orderOf(mandate uint64, wide bool) *contracts.Order {
	s := scopes[mandate]
	o := &contracts.Order{
		OrderID: contracts.OrderID(mandate), MandateID: contracts.MandateID(mandate), Name: "order", Active: true,
		CreatedAt: time.Now().AddDate(0, -1, 0), Sites: s.sites,
	}
	for i := s.first; i <= s.last; i++ {
		o.Items = append(o.Items, i)
	}
	if e, ok := extra[mandate]; ok && wide {
		for i := e.first; i <= e.last; i++ {
			o.Items = append(o.Items, i)
		}
	}
	return o
}

// accessFaults are those of callers and of what they may see.
var accessFaults = []fault{
	{name: "granted-and-revoked", core: true, do: func(w *world, rnd *rand.Rand) error { return granted(w, rnd, nil) }},
	{name: "granted-and-killed", do: func(w *world, rnd *rand.Rand) error {
		return granted(w, rnd, func() error { time.Sleep(upTo(rnd, 300*time.Millisecond)); return w.killLeader() })
	}},
	{name: "foreign-cursors", core: true, do: foreignCursors},
}

var granting sync.Mutex // one at a time, also in a composition

// granted grants pairs to a mandate and revokes them while its reader pages.
// meanwhile breaks something in between. If another fault keeps it from
// revoking them, the iteration does.
func granted(w *world, rnd *rand.Rand, meanwhile func() error) error {
	granting.Lock()
	defer granting.Unlock()
	w.grants.begin()
	err := w.setOrder(grantee, true, meanwhile)
	if err == nil {
		// Now in force: all of their rows must appear, including earlier ones.
		due := w.ledger.extra(grantee, w.since)
		_, err = retried(func() (any, error) {
			got, err := w.readers[grantee-1].pages(context.Background(), 200+rnd.IntN(400)) // a long run has many rows
			for k, f := range due {
				if err == nil && got[k] == nil {
					err = fmt.Errorf("a row of a granted pair is not there: %+v", *f)
				}
			}
			return nil, err
		})
	}
	time.Sleep(upTo(rnd, 300*time.Millisecond))
	back := w.setOrder(grantee, false, meanwhile)
	if back == nil {
		w.grants.end()
	}
	return errors.Join(err, back)
}

// withdraw revokes what is still granted.
func (w *world) withdraw() error {
	if !w.grants.open() {
		return nil
	}
	if err := w.setOrder(grantee, false, nil); err != nil {
		return wrong("I1", "a grant cannot be taken back though all is well: %v", err)
	}
	w.grants.end()
	return nil
}

// setOrder publishes an order and waits until its scope, and not an earlier
// one, is in force.
func (w *world) setOrder(mandate uint64, wide bool, meanwhile func() error) error {
	o := orderOf(mandate, wide)
	e := &event.Event{ID: newID(rand.New(rand.NewPCG(rand.Uint64(), 5))), Kind: event.KindOrder, Producer: "faults", ProducedAt: time.Now(), Data: o}
	ctx, cancel := context.WithTimeout(context.Background(), healed)
	defer cancel()
	if err := w.producer.pub.Publish(ctx, e); err != nil {
		return err
	}
	var err error
	if meanwhile != nil {
		err = meanwhile()
	}
	return errors.Join(err, must.Until(healed, "the scope is in force", func() bool {
		seq, err := w.orderAt(context.Background(), e)
		return err == nil && w.checkpoint(event.StreamCatalog) >= seq && w.pairs(mandate) == uint64(len(o.Items)*len(o.Sites))
	}))
}

// orderAt is the sequence of an order's last message, which must be e.
func (w *world) orderAt(ctx context.Context, e *event.Event) (uint64, error) {
	s, err := w.streams().Stream(ctx, event.StreamCatalog)
	if err != nil {
		return 0, err
	}
	m, err := s.GetLastMsgForSubject(ctx, e.Subject())
	if err == nil && m.Header.Get(jetstream.MsgIDHeader) != e.ID {
		err = errors.New("it is not there yet")
	}
	if err != nil {
		return 0, err
	}
	return m.Sequence, nil
}

// pairs is the number of pairs in the scope in force of a mandate.
func (w *world) pairs(mandate uint64) (n uint64) {
	_ = w.db().QueryRow("SELECT argMax(pairs, version) FROM scopes WHERE mandate = ?", mandate).Scan(&n)
	return n
}

// catalogued reports whether the catalogue is in the tables and in force.
func (w *world) catalogued() bool {
	for m := range scopes {
		if o := orderOf(m, false); w.pairs(m) != uint64(len(o.Items)*len(o.Sites)) {
			return false
		}
	}
	return w.reached(event.StreamCatalog)
}

// foreignCursors sends requests with the cursor of another mandate and with
// altered cursors: all are refused.
func foreignCursors(w *world, rnd *rand.Rand) error {
	ctx := context.Background()
	mine, other := w.readers[0], w.readers[1]
	params := mine.window()
	params.Set("limit", "1")
	cursor, err := retried(func() (string, error) { return mine.cursor(ctx, params) })
	if err != nil {
		return err
	}
	params.Set("cursor", cursor)
	// It works where it belongs.
	if _, err := retried(func() (string, error) { return mine.cursor(ctx, params) }); err != nil {
		return fmt.Errorf("the cursor is refused where it belongs: %w", err)
	}
	for range 10 {
		b := []byte(cursor)
		at := rnd.IntN(len(b) - 1) // the last letter may have unused bits
		for b[at] == cursor[at] {
			b[at] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rnd.IntN(64)]
		}
		params.Set("cursor", string(b))
		if err := mine.refusedWith(ctx, params); err != nil {
			return err
		}
	}
	params.Set("cursor", cursor)
	return other.refusedWith(ctx, params)
}

// cursor reads a page and returns the cursor of the next.
func (r *reader) cursor(ctx context.Context, params url.Values) (string, error) {
	text, err := r.read(ctx, "/v1/results", params)
	if err != nil {
		return "", err
	}
	return nextCursor(text)
}

// nextCursor returns the cursor in a page, or an error if there is none.
func nextCursor(page []byte) (string, error) {
	var p struct{ Paging struct{ NextCursor string } }
	if err := json.Unmarshal(page, &p); err != nil {
		return "", err
	}
	if p.Paging.NextCursor == "" {
		return "", errors.New("the page is the last one")
	}
	return p.Paging.NextCursor, nil
}

// refusedWith reports a finding if a read is not refused as a bad request.
func (r *reader) refusedWith(ctx context.Context, params url.Values) error {
	status, err := retried(func() (int, error) {
		if err := r.login(ctx); err != nil {
			return 0, err
		}
		resp, err := r.at(r.token).Send(ctx, http.MethodGet, "/v1/results?"+params.Encode(), nil)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close() //nolint:errcheck // its status is enough
		if turnedAway(resp.StatusCode) {
			return 0, errRefused
		}
		return resp.StatusCode, nil
	})
	if err == nil && status != http.StatusBadRequest {
		r.found(wrong("I4", "mandate %d: status %d with the cursor %s", r.mandate, status, params.Get("cursor")))
	}
	return err
}
