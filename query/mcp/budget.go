package mcp

// Budget is what is left of the answer for the result of one call.
type Budget struct{ left int }

// Remaining returns how many bytes a result may take, as counted by Cost.
func (b Budget) Remaining() int { return b.left }

// Fits reports whether an object may be the result.
func (b Budget) Fits(object []byte) bool { return Cost(object) <= b.left }

// Cost returns exactly how many bytes an object takes in an answer: one copy as
// structured content, and one as text, in which each quote and each backslash
// is escaped.
func Cost(object []byte) int { return len(object) + quotedLen(object) }

// Less returns what is left of the budget without so many bytes.
func (b Budget) Less(bytes int) Budget { return Budget{b.left - bytes} }

// downloadReserve is the fixed part of what a download costs: the rest of its
// object in both representations. Its names have at most 255 bytes each, and no
// byte of a name takes more than six bytes in one representation and seven in
// the other.
const downloadReserve = 64 << 10

// MaxRaw returns the largest size, in bytes, of a file that may be downloaded
// within what is left (LIM-D3); -1 if not even an empty one fits. A file of
// that size always fits as base64, with its name, type and times.
func (b Budget) MaxRaw() int64 {
	if b.left < downloadReserve {
		return -1
	}
	return int64(b.left-downloadReserve) / (2 * 4) * 3
}

// shares divides the bytes of one answer among its responses, one after
// another: each may take what the earlier ones left, except what the later ones
// need at least (LIM-D2).
type shares struct {
	left   int   // for all responses from the next on
	floors []int // what each of them needs at least
}

// share returns what the next response may take.
func (s *shares) share() int {
	share := s.left
	for _, later := range s.floors[1:] {
		share -= later
	}
	return share
}

// take records what the next response took.
func (s *shares) take(size int) {
	s.left -= size
	s.floors = s.floors[1:]
}
