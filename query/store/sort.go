package store

import (
	"bytes"
	"cmp"
	"slices"

	"preismon/query"
)

// sorter puts the rows of a block into the order of results (results.sql) by
// their index. The rows of each part of a table arrive sorted, so it merges
// these runs. It is reused, and so is its memory.
type sorter struct {
	ranks []uint32 // of the sites of the dictionary; equal for equal sites
	sites []uint32
	ends  []int // of runs
	spare []uint32
}

func (s *sorter) bytes() int64 {
	return 4*int64(cap(s.ranks)+cap(s.sites)+cap(s.spare)) + 8*int64(cap(s.ends))
}

func (s *sorter) sort(b *query.Block, ascending bool) {
	s.rank(&b.Site.Values)
	b.Order = slices.Grow(b.Order[:0], b.Len)
	s.ends = s.ends[:0]
	for i := range b.Len {
		if i > 0 && s.before(b, uint32(i), uint32(i-1)) {
			s.ends = append(s.ends, i)
		}
		b.Order = append(b.Order, uint32(i))
	}
	s.ends = append(s.ends, b.Len)
	for len(s.ends) > 1 {
		s.merge(b)
	}
	if ascending {
		slices.Reverse(b.Order)
	}
}

// merge merges each pair of neighbouring runs into one.
func (s *sorter) merge(b *query.Block) {
	out := slices.Grow(s.spare[:0], b.Len)
	runs, from := s.ends[:0], 0
	for n := 0; n < len(s.ends); n += 2 {
		middle, end := s.ends[n], s.ends[min(n+1, len(s.ends)-1)]
		x, y := b.Order[from:middle], b.Order[middle:end]
		for len(x) > 0 && len(y) > 0 {
			if s.before(b, y[0], x[0]) {
				out, y = append(out, y[0]), y[1:]
			} else {
				out, x = append(out, x[0]), x[1:]
			}
		}
		out = append(append(out, x...), y...)
		runs, from = append(runs, end), end
	}
	b.Order, s.spare, s.ends = out, b.Order, runs
}

// rank numbers the sites of a dictionary by their keys. A dictionary that was
// read in several blocks holds the same site several times.
func (s *sorter) rank(sites *query.Texts) {
	s.sites, s.ranks = s.sites[:0], slices.Grow(s.ranks[:0], sites.Len())[:sites.Len()]
	for i := range sites.Len() {
		s.sites = append(s.sites, uint32(i))
	}
	slices.SortFunc(s.sites, func(x, y uint32) int { return bytes.Compare(sites.At(int(x)), sites.At(int(y))) })
	rank := uint32(0)
	for i, site := range s.sites {
		if i > 0 && !bytes.Equal(sites.At(int(site)), sites.At(int(s.sites[i-1]))) {
			rank++
		}
		s.ranks[site] = rank
	}
}

// before reports whether row x comes before row y, newest first.
func (s *sorter) before(b *query.Block, x, y uint32) bool {
	if b.CapturedMs[x] != b.CapturedMs[y] {
		return b.CapturedMs[x] > b.CapturedMs[y]
	}
	if b.Item[x] != b.Item[y] {
		return b.Item[x] < b.Item[y]
	}
	return cmp.Or(
		cmp.Compare(s.ranks[b.Site.Index[x]], s.ranks[b.Site.Index[y]]),
		cmp.Compare(b.Epoch[x], b.Epoch[y]),
		cmp.Compare(b.Seq[x], b.Seq[y]),
		cmp.Compare(b.Capture[x], b.Capture[y]),
		cmp.Compare(b.Offer[x], b.Offer[y]),
	) < 0
}
