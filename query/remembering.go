package query

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/query/cache"
)

// remembering is a Store that remembers answers by their question, the caller's
// visibility and its snapshot, and those about observations also by their
// watermark. Each request reads visibility, snapshot and watermark with a
// statement that began after the request arrived, so a remembered answer is
// what the tables would return. See
// contracts/decisions/028-what-a-node-remembers.md.
type remembering struct {
	Store
	answers   *cache.Cache[answerKey, answer]
	texts     *segmentTexts                   // of streams
	requested *cache.Cache[answerKey, uint32] // how often the same was requested, lately, and not found
	same      *cache.Cache[answerKey, validity]
	untouched func(after, upTo event.Mark, s *event.Selection) bool // see Config

	mu    sync.Mutex
	calls map[answerKey]*call // being read

	recorders chan struct{} // one for each segment that is being recorded

	check                bool // compare each answer that is found with a newly read one
	checked, differences atomic.Uint64
}

type answerKey [sha256.Size]byte

// requestedBytes is the memory for noting what was requested.
const requestedBytes = 2 << 20

type answer struct {
	value any // shared: never modified
	bytes int
}

// call is the read of an answer that others wait for.
type call struct {
	done chan struct{}
	answer
	err error
}

// errPanicked is the error of a call whose read did not return.
var errPanicked = errors.New("the read panicked")

func newRemembering(s Store, cfg Config) (*remembering, error) {
	texts, err := newSegmentTexts(cfg)
	return &remembering{
		Store: s, check: cfg.CheckRemembered, calls: map[answerKey]*call{}, recorders: make(chan struct{}, maxRecorders),
		answers:   cache.New(cfg.RememberBytes, func(_ answerKey, a answer) int { return len(answerKey{}) + a.bytes }),
		texts:     texts,
		requested: cache.New(requestedBytes, func(answerKey, uint32) int { return len(answerKey{}) }),
		same:      cache.New(untouchedBytes, func(answerKey, validity) int { return len(answerKey{}) + validityBytes }),
		untouched: cfg.Untouched,
	}, err
}

func keyOf(name string, v Visibility, question any) answerKey {
	text, err := json.Marshal([]any{name, v, question})
	if err != nil {
		panic(err) // questions are plain values
	}
	return sha256.Sum256(text)
}

// recall returns a remembered answer, or reads it. A caller that needs an
// answer which another is reading waits for that read.
func recall[T any](ctx context.Context, r *remembering, name string, v Visibility, question any, read func(context.Context) (T, error)) (T, error) {
	if v.Snapshot == 0 {
		return read(ctx)
	}
	return recallKey(ctx, r, name, r.unchanged(v), keyOf(name, v, question), read)
}

// recallKey is recall by the key of a question, whose answer is the same while
// still returns true.
func recallKey[T any](ctx context.Context, r *remembering, name string, still func(context.Context) bool, key answerKey, read func(context.Context) (T, error)) (none T, err error) {
	for {
		if a, ok := r.answers.Get(key); ok {
			value := a.value.(T)
			if r.check {
				return compared(ctx, r, name, still, value, read)
			}
			return value, nil
		}
		f, mine := r.join(key)
		if mine {
			defer r.finish(key, f)
			f.err = errPanicked
			value, err := read(ctx)
			f.answer, f.err = answer{value, sizeOf(reflect.ValueOf(&value))}, err
			return value, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
		if f.err == nil {
			return f.value.(T), nil
		} // otherwise the error may be the other caller's own: try again
	}
}

// join returns the call of a key, and whether the caller must read the
// answer.
func (r *remembering) join(key answerKey) (f *call, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f = r.calls[key]; f != nil {
		return f, false
	}
	f = &call{done: make(chan struct{})}
	r.calls[key] = f
	return f, true
}

func (r *remembering) finish(key answerKey, f *call) {
	if f.err == nil {
		r.answers.Put(key, f.answer)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, key)
	close(f.done)
}

// compared reads a remembered answer again and compares the two. The tables may
// already hold what the snapshot does not cover yet, for as long as it takes to
// write the checkpoint, so on a difference it reads again. It returns what it
// read, not what was remembered.
func compared[T any](ctx context.Context, r *remembering, name string, still func(context.Context) bool, remembered T, read func(context.Context) (T, error)) (T, error) {
	r.checked.Add(1)
	for try := 0; ; try++ {
		fresh, err := read(ctx)
		if err != nil || reflect.DeepEqual(fresh, remembered) || !still(ctx) {
			return fresh, err
		}
		if try == checkTries {
			r.differences.Add(1)
			return fresh, fmt.Errorf("%s: remembered is %+v, read again %+v", name, remembered, fresh)
		}
		select {
		case <-ctx.Done():
			return fresh, context.Cause(ctx)
		case <-time.After(checkPause):
		}
	}
}

const (
	checkTries = 20
	checkPause = 50 * time.Millisecond
)

// moments is a Store that can return the current moment.
type moments interface {
	Snapshot(context.Context) (Snapshot, error)
	Watermark(context.Context) (Watermark, error)
}

// unchanged returns a function that reports whether a caller's snapshot is still
// the current one.
func (r *remembering) unchanged(v Visibility) func(context.Context) bool {
	return func(ctx context.Context) bool {
		of, ok := r.Store.(moments)
		if !ok {
			return true
		}
		now, err := of.Snapshot(ctx)
		return err != nil || now == v.Snapshot
	}
}

// nothingWritten is like unchanged, and its function also reports false once rows
// have become visible since.
func (r *remembering) nothingWritten(v Visibility) func(context.Context) bool {
	unchanged := r.unchanged(v)
	return func(ctx context.Context) bool {
		of, ok := r.Store.(moments)
		if !ok || !unchanged(ctx) {
			return !ok
		}
		now, err := of.Watermark(ctx)
		return err != nil || now == v.Watermark
	}
}

// accessReader is a Store that can read an account, whatever it remembers of it.
type accessReader interface {
	AccessUncached(ctx context.Context, account contracts.AccountID, last contracts.MandateID) (Access, error)
}

// Access implements Store. What the store remembers of accounts is compared like
// any other answer.
func (r *remembering) Access(ctx context.Context, account contracts.AccountID) (*Access, error) {
	a, err := r.Store.Access(ctx, account)
	from, ok := r.Store.(accessReader)
	if err != nil || !r.check || !a.Remembered || !ok {
		return a, err
	}
	remembered := *a
	remembered.Watermark, remembered.Generation, remembered.Visibility.Floor, remembered.Remembered = Watermark{}, 0, 0, false
	remembered.Visibility.Watermark = Watermark{}
	_, err = compared(ctx, r, "access", r.unchanged(a.Visibility), remembered, func(ctx context.Context) (Access, error) {
		again, err := from.AccessUncached(ctx, account, a.Visibility.Mandate)
		if err != nil && fault.KindOf(err) == fault.NotFound {
			err = nil // an account that is gone differs, too
		}
		again.Visibility.Snapshot = a.Visibility.Snapshot
		return again, err
	})
	return a, err
}

// Sites implements Store, as do all methods below.
func (r *remembering) Sites(ctx context.Context, v Visibility, q SitesQuery) ([]contracts.Site, error) {
	return recall(ctx, r, "sites", v, q, func(ctx context.Context) ([]contracts.Site, error) { return r.Store.Sites(ctx, v, q) })
}

type itemsPage struct {
	After contracts.ItemID
	Limit int
}

func (r *remembering) Items(ctx context.Context, v Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
	return recall(ctx, r, "items", v, itemsPage{after, limit}, func(ctx context.Context) ([]contracts.Item, error) { return r.Store.Items(ctx, v, after, limit) })
}

func (r *remembering) ItemCandidates(ctx context.Context, v Visibility, q ItemsQuery) ([]contracts.ItemID, error) {
	return recall(ctx, r, "candidates", v, q, func(ctx context.Context) ([]contracts.ItemID, error) { return r.Store.ItemCandidates(ctx, v, q) })
}

type ofItems struct {
	Items []contracts.ItemID
	Limit int `json:",omitempty"`
}

func (r *remembering) VisibleItems(ctx context.Context, v Visibility, items []contracts.ItemID, limit int) ([]contracts.Item, error) {
	return recall(ctx, r, "visible items", v, ofItems{items, limit}, func(ctx context.Context) ([]contracts.Item, error) { return r.Store.VisibleItems(ctx, v, items, limit) })
}

func (r *remembering) Categories(ctx context.Context, v Visibility, q CategoriesQuery) ([]string, error) {
	return recall(ctx, r, "categories", v, q, func(ctx context.Context) ([]string, error) { return r.Store.Categories(ctx, v, q) })
}

func (r *remembering) ASINLocales(ctx context.Context, v Visibility, limit int) ([]string, error) {
	return recall(ctx, r, "asin locales", v, limit, func(ctx context.Context) ([]string, error) { return r.Store.ASINLocales(ctx, v, limit) })
}

func (r *remembering) Orders(ctx context.Context, v Visibility, q OrdersQuery) ([]contracts.Order, error) {
	return recall(ctx, r, "orders", v, q, func(ctx context.Context) ([]contracts.Order, error) { return r.Store.Orders(ctx, v, q) })
}

type ofOrders struct {
	Orders []contracts.OrderID
	Limit  int
}

func (r *remembering) OrderScope(ctx context.Context, v Visibility, orders []contracts.OrderID, atMost int) (OrderScope, error) {
	return recall(ctx, r, "order scope", v, ofOrders{orders, atMost}, func(ctx context.Context) (OrderScope, error) { return r.Store.OrderScope(ctx, v, orders, atMost) })
}

func (r *remembering) OrderSites(ctx context.Context, v Visibility, orders []contracts.OrderID, limit int) ([]OrderSite, error) {
	return recall(ctx, r, "order sites", v, ofOrders{orders, limit}, func(ctx context.Context) ([]OrderSite, error) { return r.Store.OrderSites(ctx, v, orders, limit) })
}

func (r *remembering) CountPairs(ctx context.Context, v Visibility, s Selectors) (ScopeSize, error) {
	return recall(ctx, r, "pairs", v, s, func(ctx context.Context) (ScopeSize, error) { return r.Store.CountPairs(ctx, v, s) })
}

func (r *remembering) PairsBySite(ctx context.Context, v Visibility, s Selectors) (map[contracts.SiteKey]uint64, error) {
	return recall(ctx, r, "pairs by site", v, s, func(ctx context.Context) (map[contracts.SiteKey]uint64, error) { return r.Store.PairsBySite(ctx, v, s) })
}

func (r *remembering) ReferencePrices(ctx context.Context, v Visibility, items []contracts.ItemID) ([]contracts.ReferencePrices, error) {
	return recall(ctx, r, "reference prices", v, ofItems{Items: items}, func(ctx context.Context) ([]contracts.ReferencePrices, error) {
		return r.Store.ReferencePrices(ctx, v, items)
	})
}

func (r *remembering) CustomerData(ctx context.Context, v Visibility, items []contracts.ItemID) ([]contracts.CustomerData, error) {
	return recall(ctx, r, "customer data", v, ofItems{Items: items}, func(ctx context.Context) ([]contracts.CustomerData, error) {
		return r.Store.CustomerData(ctx, v, items)
	})
}

func (r *remembering) PairOrders(ctx context.Context, v Visibility, items []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	return recall(ctx, r, "pair orders", v, ofItems{Items: items}, func(ctx context.Context) (map[contracts.Pair][]contracts.OrderID, error) {
		return r.Store.PairOrders(ctx, v, items)
	})
}

func (r *remembering) SeesWholeOrder(ctx context.Context, v Visibility, order contracts.OrderID) (bool, error) {
	return recall(ctx, r, "whole order", v, order, func(ctx context.Context) (bool, error) { return r.Store.SeesWholeOrder(ctx, v, order) })
}

// itemsOf and sites are ItemRecords and SiteRecords, at the caller's snapshot.
func (r *remembering) itemsOf(ctx context.Context, v Visibility, items []contracts.ItemID) ([]contracts.Item, error) {
	all := Visibility{Snapshot: v.Snapshot}
	return recall(ctx, r, "item records", all, ofItems{Items: items}, func(ctx context.Context) ([]contracts.Item, error) { return r.Store.ItemRecords(ctx, items) })
}

func (r *remembering) sites(ctx context.Context, v Visibility) ([]contracts.Site, error) {
	all := Visibility{Snapshot: v.Snapshot, Catalogue: v.Catalogue}
	return recall(ctx, r, "site records", all, nil, func(ctx context.Context) ([]contracts.Site, error) { return r.Store.SiteRecords(ctx) })
}
