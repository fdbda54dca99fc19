package query

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"preismon/contracts"
)

// A stream of a time that is over is sent in segments, whole hours or days, whose
// text a node remembers. See contracts/decisions/066-closed-windows-are-replayed.md.

const (
	hourMs = int64(time.Hour / time.Millisecond)
	dayMs  = 24 * hourMs

	// hourlyWindow is the longest window of which all segments are hours, unless
	// the form is coarse: in a longer one, whole days are one segment each.
	hourlyWindow = maxGlobalWindow
	// dividedWindow is the longest window that is divided at all.
	dividedWindow = 400 * 24 * time.Hour
	// overAfter is how long after its end a segment is over: before that, so many
	// rows still arrive that its text would be of no use.
	overAfter = 5 * time.Minute
	// maxRuns is how many reads a stream makes at most for the segments that are
	// not remembered. Beyond it, remembered segments between them are read, too.
	maxRuns = 4
	// maxLate is the number of late rows from which on none of the segments they
	// may belong to are used.
	maxLate = 1_000
)

// segment is a stretch of a stream's window, in Unix ms; both bounds are included.
type segment struct {
	from, to int64
	key      answerKey // zero: its time is not over
	held     bool      // its text is remembered, up to the watermark of the stream
	record   bool      // its text is to be remembered
}

func (p *segment) over() bool { return p.key != answerKey{} }

func (p *segment) window() contracts.Window {
	return contracts.Window{From: fromMs(p.from), To: fromMs(p.to)}
}

// segments are those of one stream, in its order.
type segments struct {
	service *Service
	in      *read
	store   *remembering
	packing packing
	all     []segment
}

// question identifies what the text of rows depends on, besides the rows and
// their time: equal questions about a time get equal answers as long as no row
// of that time arrives.
type question [sha256.Size]byte

// of is the question about a time.
func (q question) of(w contracts.Window) question {
	text := binary.BigEndian.AppendUint64(q[:], uint64(w.From.UnixMilli()))
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(w.To.UnixMilli())))
}

// packed is the key of the text that answers the question in a form.
func (q question) packed(by packing, form string) answerKey {
	return sha256.Sum256(append(append(q[:], byte(by)), form...))
}

// repeats reports whether the text of a stream may be sent again. It may be if a
// feed can follow it: its rows change only by those that arrive, by the scope,
// or by a rebuild.
func (s *Service) repeats(ctx context.Context, plan *resultsPlan, v Visibility, r ResultsRequest) bool {
	q := &plan.query
	return explaining(ctx) == nil && plan.cursor == "" && v.Snapshot != 0 && v.Applied && !plan.include.Coverage && q.Latest == AllRows &&
		feedable(r) == nil && !q.Window.From.Before(time.UnixMilli(0)) && !q.Window.To.IsZero()
}

// catalogued notes the versions of what rows will show of the catalogue, before
// anything of that is read: text is never older than the versions it is
// remembered under. Items are too many to know their newest version; what shows
// them is remembered under the snapshot.
func (s *Service) catalogued(ctx context.Context, v *Visibility, shown Include) (err error) {
	if shown.Identity || !shown.ExportFields && !shown.CustomerData {
		return nil
	}
	v.Catalogue, err = recall(ctx, s.store, "catalogue versions", *v, shown, func(ctx context.Context) ([]uint64, error) {
		return s.store.CatalogueVersions(ctx, *v, shown)
	})
	return err
}

// questionOf returns the question of a stream that repeats.
func (s *Service) questionOf(ctx context.Context, in *read, generation uint64) (question, error) {
	q, v := in.query, in.vis
	scope, err := s.feedScope(ctx, v, q.Selectors)
	if err != nil {
		return question{}, err
	}
	q.Window, q.FromNow, q.ToNow, q.Watermark = contracts.Window{}, false, false, Watermark{}
	of := struct {
		Query      ResultsQuery
		Include    Include
		Zone       string
		Scope      string
		Generation uint64
		Catalogue  []uint64
		Snapshot   Snapshot // with identity only
	}{Query: q, Include: in.include, Zone: in.echo.Timezone, Scope: scope, Generation: generation, Catalogue: v.Catalogue}
	if in.include.Identity {
		of.Snapshot = v.Snapshot
	}
	text, err := json.Marshal(of)
	return sha256.Sum256(append([]byte("rows\x00"), text...)), err
}

// overBefore is the time before which everything is over.
func (s *Service) overBefore() int64 { return s.now().Add(-overAfter).UnixMilli() }

// segmentsOf divides the window of a stream, and finds which of its text is
// remembered; nil: none may be.
func (s *Service) segmentsOf(ctx context.Context, in *read, of question, w ResultsStream) (*segments, error) {
	q := &in.query
	if s.cfg.RememberStreamBytes == 0 || q.Window.Length() > dividedWindow {
		return nil, nil
	}
	over, daily, form := s.overBefore(), q.Window.Length() > hourlyWindow, ""
	if to, ok := w.(TableStream); ok {
		form = to.Form()
		daily = daily || to.Coarse()
	}
	p := &segments{service: s, in: in, store: s.store, packing: packingOf(w)}
	for _, one := range divide(q.Window, over, daily) {
		if one.to <= over {
			one.key = of.of(one.window()).packed(p.packing, form)
		}
		if p.store.outgrown(one.key) {
			for _, hour := range divide(one.window(), over, false) {
				hour.key = of.of(hour.window()).packed(p.packing, form)
				p.all = append(p.all, hour)
			}
			continue
		}
		p.all = append(p.all, one)
	}
	if !q.Ascending {
		slices.Reverse(p.all)
	}
	return p, p.find(ctx)
}

// divide cuts a window at whole hours, or daily, at whole days where it has them.
// What is not over is one segment.
func divide(w contracts.Window, over int64, daily bool) (all []segment) {
	from, to := w.From.UnixMilli(), w.To.UnixMilli()
	for from <= to {
		end := min(to, from-from%hourMs+hourMs-1)
		if last := from + dayMs - 1; daily && from%dayMs == 0 && last <= min(to, over) {
			end = last
		}
		if end > over {
			end = to
		}
		all = append(all, segment{from: from, to: end})
		from = end + 1
	}
	return all
}

// find determines which segments are held. A text that was made at an earlier
// watermark is valid if no row of its segment has become visible since.
func (p *segments) find(ctx context.Context) error {
	mark := p.in.query.Watermark
	texts := make([]*validity, len(p.all))
	oldest, late := mark, contracts.Window{}
	for i := range p.all {
		one := &p.all[i]
		if !one.over() {
			continue
		}
		text, ok := p.store.texts.validity(one.key)
		if !ok || text.since.Compare(mark) > 0 {
			one.record = p.store.worthwhile(one.key)
			continue
		}
		one.held, texts[i] = true, &text
		if text.at.Compare(oldest) < 0 {
			oldest = text.at
		}
		if from := fromMs(one.from); late.From.IsZero() || from.Before(late.From) {
			late.From = from
		}
		if to := fromMs(one.to); to.After(late.To) {
			late.To = to
		}
	}
	if oldest != mark {
		if err := p.drop(ctx, late, oldest, texts); err != nil {
			return err
		}
	}
	p.join()
	for i, text := range texts {
		if p.all[i].held && text.at.Compare(mark) < 0 {
			p.store.texts.extend(p.all[i].key, validity{text.since, mark})
		}
	}
	return nil
}

// lateRows is the query for rows of a window that became visible after a
// watermark.
func (s *Service) lateRows(in *read, w contracts.Window, since Watermark, limit int) FeedQuery {
	q := FeedQuery{Rows: in.query, After: positionAfter(since), Limit: limit}
	q.Rows.Window, q.Rows.FromNow, q.Rows.ToNow, q.Rows.Ascending, q.Rows.Export, q.Rows.Read = w, false, false, false, false, nil
	return q
}

// newest returns a watermark since which none of the rows has become visible:
// the one given, or an earlier one if all text is remembered.
func (p *segments) newest(mark Watermark) (newest Watermark) {
	if p == nil {
		return mark
	}
	for i := range p.all {
		text, ok := p.heldNow(&p.all[i])
		if !ok {
			return mark
		}
		if text.since.Compare(newest) > 0 {
			newest = text.since
		}
	}
	return newest
}

// drop reads the rows of a window that became visible after a watermark, and
// drops the texts that lack one of them.
func (p *segments) drop(ctx context.Context, window contracts.Window, since Watermark, texts []*validity) error {
	if p.store.nothingSince(p.in.vis, &p.in.query.Selectors, window, since, p.in.query.Watermark) {
		return nil
	}
	q := p.service.lateRows(p.in, window, since, maxLate)
	rows := 0
	err := p.store.Feed(ctx, p.in.vis, &q, func(b *Block) error {
		rows += b.Len
		for k := range b.Len {
			i := b.At(k)
			p.late(b.CapturedMs[i], Watermark{b.Epoch[i], b.Seq[i]}, texts)
		}
		return nil
	})
	if err == nil && rows >= maxLate { // there may be more
		for i, text := range texts {
			if text != nil && text.at.Compare(p.in.query.Watermark) < 0 {
				p.all[i].held, p.all[i].record = false, true
			}
		}
	}
	return err
}

// late drops the text of the segment that a row belongs to, if it became visible
// after the text was made.
func (p *segments) late(capturedMs int64, at Watermark, texts []*validity) {
	for i := range p.all {
		if one := &p.all[i]; one.from <= capturedMs && capturedMs <= one.to {
			if one.held && at.Compare(texts[i].at) > 0 {
				one.held, one.record = false, true
			}
			return
		}
	}
}

// join drops what is held between the first and the last part that is not, if
// the stream would take too many reads.
func (p *segments) join() {
	runs, first, last := 0, -1, -1
	for i := range p.all {
		if p.all[i].held {
			continue
		}
		if first < 0 {
			first = i
		}
		if last != i-1 || last < 0 {
			runs++
		}
		last = i
	}
	if runs <= maxRuns {
		return
	}
	for i := first; i <= last; i++ {
		p.all[i].held = false
	}
}
