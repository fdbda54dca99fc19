package notify

import (
	"maps"
	"sync"
	"time"
)

// TargetStats are the counts of a target since the start.
type TargetStats struct {
	Delivered, Retried, GivenUp uint64
	Unread                      uint64    // failed attempts to read the service
	HeldSince                   time.Time // since when the first alert in line is being tried; zero: none is
}

// Stats counts what a run does. The zero value is ready.
type Stats struct {
	mu sync.Mutex
	of map[string]TargetStats
}

// Targets returns the counts by the name of the target.
func (s *Stats) Targets() map[string]TargetStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.of)
}

// count updates the counts of a target.
func (s *Stats) count(target string, change func(*TargetStats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]TargetStats{}
	}
	now := s.of[target]
	change(&now)
	s.of[target] = now
}
