package cache_test

import (
	"sync"
	"testing"

	"preismon/query/cache"
)

// TestCacheStaysWithinItsBytes: many goroutines put much more than there is
// room for; a value found is the value that was put, and the rest was evicted.
func TestCacheStaysWithinItsBytes(t *testing.T) {
	const room = 1 << 20
	c := cache.New(room, func(int, []byte) int { return 1 << 10 })
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 5_000 {
				k := g*5_000 + i
				c.Put(k, []byte{byte(k)})
				if v, ok := c.Get(k / 2); ok && v[0] != byte(k/2) {
					t.Errorf("%d is %d", k/2, v[0])
				}
			}
		})
	}
	all.Wait()
	s := c.Stats()
	if s.Bytes > room*5/4 || s.Bytes == 0 || s.Evictions == 0 || s.Hits == 0 || s.Room != room {
		t.Errorf("%+v", s)
	}
}

// TestCacheTakesNothingThatHasNoRoom: a value that is larger than the whole
// cache is not kept.
func TestCacheTakesNothingThatHasNoRoom(t *testing.T) {
	c := cache.New(1<<10, func(string, int) int { return 1 << 20 })
	c.Put("large", 1)
	for range 100 { // maintenance runs in the background
		c.Put("other", 2)
	}
	if s := c.Stats(); s.Bytes > 1<<10 {
		t.Errorf("%+v", s)
	}
}

// TestCacheWithoutRoom remembers nothing.
func TestCacheWithoutRoom(t *testing.T) {
	c := cache.New(0, func(int, int) int { return 0 })
	for i := range 100 {
		c.Put(i, i)
		if s := c.Stats(); s.Bytes > 200 {
			t.Fatalf("%+v", s)
		}
	}
}
