package mcp

// Budget is what is left of the answer for the result of one call.
type Budget struct{ left int }

// Remaining is how many bytes a result may take as Cost counts them.
func (b Budget) Remaining() int { return b.left }

// Fits tells whether an object may be the result.
func (b Budget) Fits(object []byte) bool { return Cost(object) <= b.left }

// Cost is exactly how many bytes an object takes in an answer: once as
// structured content, and once more as text, where each quote and each
// backslash of it is escaped.
func Cost(object []byte) int { return len(object) + quotedLen(object) }

// downloadReserve is the fixed part of what a download costs: the rest of its
// object in both representations. Its names have at most 255 bytes each, and
// no byte of a name takes more than six in the one and seven in the other.
const downloadReserve = 64 << 10

// downloadCost bounds what a file of so many bytes costs: its base64 in both
// representations and the reserve (LIM-D1).
func downloadCost(raw int64) int64 { return 2*4*((raw+2)/3) + downloadReserve }

// MaxRaw is the largest file, in bytes, that may be downloaded within what is
// left (LIM-D3); -1 when not even an empty one fits. A file of that size that
// is shown as base64 beside its name, type and times is sure to fit.
func (b Budget) MaxRaw() int64 {
	if b.left < downloadReserve {
		return -1
	}
	return int64(b.left-downloadReserve) / (2 * 4) * 3
}

// shares deals the bytes of one answer out to its responses, one after the
// other: each may take what the earlier ones left, but for what the later ones
// need at least (LIM-D2).
type shares struct {
	left   int   // for all responses from the next on
	floors []int // what each of them needs at least
}

// share is what the next response may take.
func (s *shares) share() int {
	share := s.left
	for _, later := range s.floors[1:] {
		share -= later
	}
	return share
}

// take notes what the next response took.
func (s *shares) take(size int) {
	s.left -= size
	s.floors = s.floors[1:]
}
