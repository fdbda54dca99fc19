package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// feeds lets feeds of different mandates share a statement if they differ only
// in the mandate and see all of its rows. Each reader gets the rows of its own
// mandate. Tails that are woken together read at about the same time; a feed
// that reads alone has a statement of its own.
type feeds struct {
	read func(context.Context, []*feedReader) (struct{}, error)

	mu sync.Mutex
	of map[string]*feedShare // by the statement, without its mandate
	// last is what was read last: by so many readers, in one statement or in
	// several. crowd is how many readers there were for what was read before it.
	last    string
	readers int
	crowd   int
}

const (
	// feedGatherDelay is how long a feed waits for others, if there were more of
	// them before. They arrive one after another, because each has work to do
	// first, and shares the processors with as many tails as there are.
	feedGatherDelay = 4 * time.Millisecond
	// maxTogether is how many mandates a statement covers at most.
	maxTogether = 256
)

// feedShare is shared by all readers that now read the same.
type feedShare struct {
	shared[*feedReader, struct{}]
	readers int
}

// feedReader is a reader that waits for the rows of a mandate.
type feedReader struct {
	vis    query.Visibility
	query  *query.FeedQuery
	blocks chan *query.Block
	taken  chan struct{} // the block may be reused
	left   chan struct{} // closed when no more blocks are taken
}

// readShared reads the rows of a caller that sees its whole mandate, using st,
// together with other readers.
func (f *feeds) readShared(ctx context.Context, v query.Visibility, q *query.FeedQuery, st statement, each func(*query.Block) error) error {
	r := &feedReader{vis: v, query: q, blocks: make(chan *query.Block), taken: make(chan struct{}), left: make(chan struct{})}
	defer close(r.left)
	share, leave := f.enter(st)
	defer leave()
	answer := share.join(ctx, r)
	for {
		select {
		case b := <-r.blocks:
			if err := each(b); err != nil {
				return err
			}
			r.taken <- struct{}{}
		case <-answer.done:
			return answer.err
		case <-ctx.Done():
			return kind(context.Cause(ctx))
		}
	}
}

// give passes a block to the reader, if it still wants any.
func (r *feedReader) give(b *query.Block) {
	select {
	case r.blocks <- b:
	case <-r.left:
		return
	}
	select {
	case <-r.taken:
	case <-r.left:
	}
}

// enter returns the share of the readers whose statements differ only in the
// mandate.
func (f *feeds) enter(st statement) (share *feedShare, leave func()) {
	key := st.butFor("mandate", "version", "versions") // a version belongs to a mandate, and nothing depends on it
	f.mu.Lock()
	defer f.mu.Unlock()
	if share = f.of[key]; share == nil {
		share = &feedShare{}
		share.read = func(ctx context.Context, readers []*feedReader) (struct{}, error) {
			f.note(key, len(readers))
			return f.read(ctx, readers)
		}
		share.gatherDelay = feedGatherDelay
		f.of[key] = share
	}
	share.expect(f.expected(key))
	share.readers++
	return share, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if share.readers--; share.readers == 0 {
			delete(f.of, key)
		}
	}
}

// note records that a statement is read by so many readers.
func (f *feeds) note(key string, readers int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key != f.last {
		f.last, f.crowd, f.readers = key, f.readers, 0
	}
	f.readers += readers
}

// expected returns how many readers are expected for a statement: as many as
// read the previous one, less those that have read this one already.
func (f *feeds) expected(key string) int {
	if key == f.last {
		return f.crowd - f.readers
	}
	return f.readers
}

// butFor returns the text of a statement and its values, except for those
// named.
func (st statement) butFor(names ...string) string {
	var b strings.Builder
	b.WriteString(st.text)
	for _, name := range slices.Sorted(maps.Keys(st.params)) {
		if !slices.Contains(names, name) {
			b.WriteString("\x00" + name + "\x00" + st.params[name])
		}
	}
	return b.String()
}

// readFeeds passes to each of the readers, which all read the same, the rows of
// its mandate.
func (s *Store) readFeeds(ctx context.Context, readers []*feedReader) (struct{}, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	of := map[contracts.MandateID][]*feedReader{}
	for _, r := range readers {
		select {
		case <-r.left:
		default:
			of[r.vis.Mandate] = append(of[r.vis.Mandate], r)
		}
	}
	go func() { // no reader waits any more
		for _, r := range readers {
			select {
			case <-r.left:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	for together := range slices.Chunk(slices.Sorted(maps.Keys(of)), maxTogether) {
		if err := s.readTogether(ctx, together, of); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}

// readTogether runs the one statement for some mandates.
func (s *Store) readTogether(ctx context.Context, together []contracts.MandateID, of map[contracts.MandateID][]*feedReader) error {
	first := of[together[0]][0]
	if len(together) == 1 {
		st, _ := feedStatement(s.shards, first.vis, first.query, nil)
		return s.readFeed(ctx, st, columnsOf(&first.query.Rows), func(c *blockColumns) error {
			for _, r := range of[together[0]] {
				r.give(c.filled())
			}
			return nil
		})
	}
	st, _ := feedStatement(s.shards, first.vis, first.query, together)
	return s.readFeed(ctx, st, columnsOf(&first.query.Rows)|ofMandates, func(c *blockColumns) error {
		b := c.filled()
		for from, to := 0, 0; from < b.Len; from = to {
			for to < b.Len && c.mandate[to] == c.mandate[from] {
				to++
			}
			for _, r := range of[contracts.MandateID(c.mandate[from])] {
				r.give(b.Part(from, to))
			}
		}
		return nil
	})
}
