package query

import (
	"context"
	"crypto/sha256"
	"slices"
)

// textSum identifies a text in a comparison, and in its error.
type textSum struct {
	Bytes int
	Sum   [sha256.Size]byte
}

func sumOf(text []byte) textSum { return textSum{len(text), sha256.Sum256(text)} }

// compare reads a remembered segment again, and fails if its text differs.
func (p *segments) compare(ctx context.Context, one *segment, text *segmentText) error {
	var remembered []byte
	for _, l := range text.chunks {
		var err error
		if remembered, err = l.append(slices.Grow(remembered, l.Size), p.packing); err != nil {
			return err
		}
	}
	_, err := compared(ctx, p.store, "text of a stream from "+fromMs(one.from).String(), p.in.vis, sumOf(remembered), func(ctx context.Context) (textSum, error) {
		again, err := p.fresh(ctx, one)
		return sumOf(again), err
	})
	return err
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
