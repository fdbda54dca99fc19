package clientdoc

import (
	"container/list"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// recent remembers at most max values by key and forgets the least recently
// used.
type recent[V any] struct {
	max   int
	order *list.List // of pair[V], the most recently used in front
	by    map[string]*list.Element
}

type pair[V any] struct {
	key   string
	value V
}

func newRecent[V any](max int) *recent[V] {
	return &recent[V]{max: max, order: list.New(), by: map[string]*list.Element{}}
}

func (r *recent[V]) get(key string) (V, bool) {
	e, ok := r.by[key]
	if !ok {
		var none V
		return none, false
	}
	r.order.MoveToFront(e)
	return e.Value.(pair[V]).value, true
}

func (r *recent[V]) put(key string, value V) {
	if e, ok := r.by[key]; ok {
		e.Value = pair[V]{key, value}
		r.order.MoveToFront(e)
		return
	}
	r.by[key] = r.order.PushFront(pair[V]{key, value})
	if last := r.order.Back(); len(r.by) > r.max {
		delete(r.by, last.Value.(pair[V]).key)
		r.order.Remove(last)
	}
}

// keep returns how long an answer may be kept: the max-age of its Cache-Control
// less its Age (RFC 9111, section 4.2), within the bounds of the Config.
func (c Config) keep(h http.Header) time.Duration {
	age := time.Duration(0)
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache":
			return c.MinAge
		case "max-age":
			age = seconds(strings.Trim(value, `"`))
		}
	}
	return min(max(age-seconds(h.Get("Age")), c.MinAge), c.MaxAge)
}

// seconds parses a number of seconds: 0 if it is not a number, at most a year.
func seconds(s string) time.Duration {
	const most = 365 * 24 * 3600
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && n == 0 {
		return 0
	}
	return time.Duration(min(n, most)) * time.Second
}
