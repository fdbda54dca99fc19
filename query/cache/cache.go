// Package cache holds what a node remembers, bounded in bytes. It has no clock:
// a key names the version of what it stands for, or the value says which
// versions it is right for, so that no value is ever wrong, and entries that are
// no longer requested make room for the rest. A miss is always allowed.
package cache

import (
	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"
)

// Cache remembers values by key. Its methods may be called concurrently.
type Cache[K comparable, V any] struct {
	of    *otter.Cache[K, V]
	count *stats.Counter
}

// overhead is roughly what an entry costs in addition to its key and value.
const overhead = 128

// New returns a cache of at most the given number of bytes; of none, it
// remembers nothing. Weigh returns how many bytes a key and its value hold.
// Values are shared: callers must not change them.
func New[K comparable, V any](bytes int64, weigh func(K, V) int) *Cache[K, V] {
	return NewDropping(bytes, weigh, nil)
}

// NewDropping is New with a function that is called, on a goroutine of its own,
// for each value that is no longer kept: evicted, so that others have room, or
// replaced or deleted.
func NewDropping[K comparable, V any](bytes int64, weigh func(K, V) int, dropped func(k K, v V, evicted bool)) *Cache[K, V] {
	count := stats.NewCounter()
	var onDeletion func(otter.DeletionEvent[K, V])
	if dropped != nil {
		onDeletion = func(e otter.DeletionEvent[K, V]) { dropped(e.Key, e.Value, e.WasEvicted()) }
	}
	return &Cache[K, V]{count: count, of: otter.Must(&otter.Options[K, V]{
		OnDeletion:    onDeletion,
		MaximumWeight: uint64(max(1, bytes)), // less than any entry, and otter refuses 0
		Weigher:       func(k K, v V) uint32 { return uint32(min(max(0, weigh(k, v)), 1<<31)) + overhead },
		StatsRecorder: count,
	})}
}

// Get returns the value of a key, if there is one.
func (c *Cache[K, V]) Get(k K) (V, bool) { return c.of.GetIfPresent(k) }

// Put remembers a value, unless there is no room for it.
func (c *Cache[K, V]) Put(k K, v V) { c.of.Set(k, v) }

// Delete forgets the value of a key.
func (c *Cache[K, V]) Delete(k K) { c.of.Invalidate(k) }

// Stats describes how well a cache is used and what it holds.
type Stats struct {
	Hits, Misses, Evictions uint64
	Entries                 int
	Bytes, Room             uint64
}

// Stats returns the current figures.
func (c *Cache[K, V]) Stats() Stats {
	s := c.count.Snapshot()
	return Stats{
		Hits: s.Hits, Misses: s.Misses, Evictions: s.Evictions,
		Entries: c.of.EstimatedSize(), Bytes: c.of.WeightedSize(), Room: c.of.GetMaximum(),
	}
}
