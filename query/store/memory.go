package store

import "sync"

// memory remembers answers that hold for as long as their question has the
// same words.
type memory[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

const maxRemembered = 1 << 16 // beyond it all are forgotten

func (m *memory[K, V]) get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.of[k]
	return v, ok
}

func (m *memory[K, V]) put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= maxRemembered {
		m.of = map[K]V{}
	}
	m.of[k] = v
}
