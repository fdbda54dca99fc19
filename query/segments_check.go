package query

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// compare reads a remembered segment again, and fails if its text differs; see
// compared.
func (p *segments) compare(ctx context.Context, one *segment, text *segmentText) error {
	r := p.store
	r.checked.Add(1)
	var remembered []byte
	for _, l := range text.chunks {
		var err error
		if remembered, err = l.append(slices.Grow(remembered, l.Size), p.packing); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		again, err := p.fresh(ctx, one)
		if err != nil || bytes.Equal(again, remembered) || !r.holds(ctx, p.in.vis.Snapshot) {
			return err
		}
		if try == checkTries {
			r.differences.Add(1)
			return fmt.Errorf("part of a stream from %s: remembered are %d bytes, read again %d", fromMs(one.from), len(remembered), len(again))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(checkPause):
		}
	}
}

// fresh reads the text of a segment.
func (p *segments) fresh(ctx context.Context, one *segment) (text []byte, err error) {
	e := newRowEncoder(p.in.resultsPlan, p.in.encoder.facts, newEnrichment(p.in.include, p.store, p.in.vis))
	q := p.in.query
	q.Window, q.FromNow, q.ToNow, q.Read = one.window(), false, false, nil
	err = p.store.Store.Results(ctx, p.in.vis, &q, func(b *Block) error {
		if err := e.rich.load(ctx, b); err != nil {
			return err
		}
		e.begin(b)
		for k := range b.Len {
			text = append(e.append(text, b, b.At(k)), '\n')
		}
		return nil
	})
	return text, err
}
