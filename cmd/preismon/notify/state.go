package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"preismon/contracts/atomicfile"
)

// position is how far a rule was followed for a target.
type position struct {
	Params string `json:"params"` // of the rule when it began
	Token  string `json:"token"`
	// After is the last message delivered after the token; empty: none.
	After string `json:"after,omitempty"`
	// Sites are those that a silence rule watches.
	Sites map[string]seen `json:"sites,omitempty"`
}

// state is the file of positions, by rule and target.
type state struct {
	path      string
	mu        sync.Mutex
	positions map[string]position
}

// lockState keeps other processes from using the file until the lock is closed.
// The lock is a file of its own, because the file of positions is replaced.
func lockState(path string) (*flock.Flock, error) {
	lock := flock.New(path + ".lock")
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if !held {
		return nil, fmt.Errorf("state: another notify is using %s; stop it, or name another file", path)
	}
	return lock, nil
}

// openState reads the file, or creates it: without a recorded position, what
// fires while nothing runs would never be delivered.
func openState(path string) (*state, error) {
	s := &state{path: path, positions: map[string]position{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.write(); err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &s.positions); err != nil {
		return nil, fmt.Errorf("state: %s is not a state file: %w", path, err)
	}
	return s, nil
}

func (s *state) at(key string) position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.positions[key]
}

// keep writes a position into the file, completely or not at all, and syncs it to disk.
func (s *state) keep(key string, p position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Sites = maps.Clone(p.Sites) // the caller goes on with its own
	s.positions[key] = p
	return s.write()
}

// write is for callers that hold the lock, or are the only ones with the state.
func (s *state) write() error {
	text, err := json.MarshalIndent(s.positions, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path, append(text, '\n'))
}
