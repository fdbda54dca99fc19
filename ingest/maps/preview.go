package maps

import (
	"time"
)

// Preview gives the first rows of a file as a mapping understands them.
func Preview(file string, m *Mapping, now time.Time) ([]Shown, error) {
	begin, err := beginning(file)
	if err != nil {
		return nil, err
	}
	s, err := takeSample(begin)
	if err != nil {
		return nil, err
	}
	return preview(m, s, now), nil
}
