package query

import (
	"context"
	"errors"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
)

// A read of results takes the same steps, whether its rows become a page or a
// stream, JSON or a table, over REST or MCP. This file contains them, top down:
//
//	decode     wire.DecodeResults builds a ResultsRequest from parameters
//	plan       what the request means; refused by the rules that need no data
//	authorize  who the caller is, and what it sees now
//	admit      refused by the size of its scope, otherwise put at its cursor
//	execute    its rows, block after block, in their order
//	encode     a block as JSON or as columns
//
// Other reads of observations (statistics, movers, positions) take the same
// steps up to admit, and then run their own statement.

// Results reads one page, whose rows the caller must release. A page that the
// soft deadline or the answer budget ends has fewer rows than its limit and a
// cursor (RES-11b): possibly no row after the soft deadline, otherwise at least
// one.
func (s *Service) Results(ctx context.Context, p Principal, r ResultsRequest) (page *ResultsPage, err error) {
	defer func() { s.stats.paged(page, err) }()
	room, held, err := s.charge(ctx, pageBytes(r))
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	if page, err = s.page(ctx, p, r, time.Now()); err != nil {
		held()
		return nil, s.budget(ctx, err)
	}
	room.Resize(page.Rows.bytes(r.Table))
	page.Rows.held = held
	return page, nil
}

// page takes a page through the steps.
func (s *Service) page(ctx context.Context, p Principal, r ResultsRequest, start time.Time) (*ResultsPage, error) {
	plan, err := s.plan(p, r)
	if err != nil {
		return nil, err
	}
	if page, done, err := s.pageAhead(ctx, p, plan, r, start); done {
		return page, err
	}
	in, err := s.accept(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	s.seen.Put(p.Account, seenUpTo{in.vis, in.query.Watermark})
	return s.execute(ctx, in, r, start)
}

// StreamResults reads all rows of the window in order. It has no deadline as a
// whole, but none of its waits for the store may be longer than the hard
// budget. It fails if its caller no longer sees what it saw at the start: as
// Unavailable if only the scope has changed.
func (s *Service) StreamResults(ctx context.Context, p Principal, r ResultsRequest, w ResultsStream) error {
	return s.stream(ctx, &sight{service: s, caller: p}, r, w)
}

// stream takes a stream through the steps, by what its caller sees at one
// moment.
func (s *Service) stream(ctx context.Context, seen *sight, r ResultsRequest, w ResultsStream) (err error) {
	defer func() { s.stats.streamed(err) }()
	holds, err := s.node.Begin(ctx, true, chunkRoom+w.Holds())
	if err != nil {
		return err
	}
	defer holds.End()
	ctx = admission.WithBudget(ctx, s.cfg.HardBudget)
	in, token, err := s.acceptStream(ctx, seen, r)
	if err != nil {
		return s.budget(ctx, err)
	}
	if in.empty {
		if err := token(ctx); err != nil {
			return err
		}
		return w.Start(in.echo.Scope)
	}
	segments, err := s.repeat(ctx, in, r, w, seen.access.Generation)
	if err != nil {
		return s.budget(ctx, err)
	}
	look := &scopeWatch{service: s, caller: seen.caller, seen: in.vis, checked: seen.at}
	return s.budget(ctx, s.executeStream(ctx, in, segments, w, holds, look, token))
}

// repeat finds what is remembered of a stream, and sets its tag.
func (s *Service) repeat(ctx context.Context, in *read, r ResultsRequest, w ResultsStream, generation uint64) (found *segments, err error) {
	if !s.repeats(ctx, in.resultsPlan, in.vis, r) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.HardBudget)
	defer cancel()
	about, err := s.questionOf(ctx, in, generation)
	if err != nil {
		return nil, err
	}
	if found, err = s.segmentsOf(ctx, in, about, w); err != nil {
		return nil, err
	}
	if r.Condition != nil && in.query.Window.To.UnixMilli() <= s.overBefore() {
		r.Condition.Tag = s.tags.make(about.of(in.query.Window), r.Condition.Form, found.newest(in.query.Watermark))
	}
	return found, nil
}

// acceptStream takes a stream through the steps up to admit. After the last
// row, token issues the stream's token for the feed, if one is requested.
func (s *Service) acceptStream(ctx context.Context, seen *sight, r ResultsRequest) (in *read, token func(context.Context) error, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.HardBudget)
	defer cancel()
	plan, err := s.plan(seen.caller, r)
	if err != nil {
		return nil, nil, err
	}
	a, err := seen.authorize(ctx)
	if err != nil {
		return nil, nil, err
	}
	token = func(context.Context) error { return nil }
	if r.ChangesToken != nil {
		if token, err = s.streamToken(ctx, seen.caller, plan, r, a); err != nil {
			return nil, nil, err
		}
	}
	v := a.Visibility
	if s.repeats(ctx, plan, v, r) {
		if err := s.catalogued(ctx, &v, plan.include); err != nil {
			return nil, nil, err
		}
	}
	in, err = s.admit(ctx, plan, v, a.Watermark)
	return in, token, err
}

// plan checks a request by the rules that need no data, and resolves its window
// at one logical time.
func (s *Service) plan(p Principal, r ResultsRequest) (*resultsPlan, error) {
	plan, err := s.understand(p, r)
	if err != nil {
		return nil, joinFaults(err, r.checkScope())
	}
	return plan, plan.checkWindow(r)
}

// accept authorizes and admits a planned read.
func (s *Service) accept(ctx context.Context, p Principal, plan *resultsPlan) (*read, error) {
	a, err := s.authorize(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.admit(ctx, plan, a.Visibility, a.Watermark)
}

// authorize reads what a caller that may read results sees now.
func (s *Service) authorize(ctx context.Context, p Principal) (*Access, error) {
	return s.access(ctx, p, contracts.ReadResults)
}

// sight is what a caller sees at one moment, for all parts of one answer.
type sight struct {
	service *Service
	caller  Principal
	at      time.Time // before access was read
	access  *Access
}

// authorize reads what the caller sees, only the first time.
func (v *sight) authorize(ctx context.Context) (*Access, error) {
	if v.access != nil {
		return v.access, nil
	}
	v.at = time.Now()
	a, err := v.service.authorize(ctx, v.caller)
	if err == nil {
		v.access = a
	}
	return a, err
}

// admit is the last step that may refuse: nothing that it admits is refused
// later, neither for pages nor for streams (RES-14a).
func (s *Service) admit(ctx context.Context, plan *resultsPlan, v Visibility, mark Watermark) (*read, error) {
	in, err := s.position(ctx, plan, v, mark, s.store.CountPairs)
	if err != nil {
		return nil, s.fitting(ctx, plan, v, err)
	}
	if !in.empty {
		in.encoder, err = s.encoder(ctx, plan, v)
	}
	return in, err
}

// execute reads the rows of a page and encodes them.
func (s *Service) execute(ctx context.Context, in *read, r ResultsRequest, start time.Time) (_ *ResultsPage, err error) {
	page := &ResultsPage{Paging: Paging{Limit: in.limit}, Query: in.echo}
	c := newPageCollector(in, page, r, s.cfg.MaxResponseBytes)
	if r.Summarize {
		in.query.Standing = !in.query.Export // buy boxes are summed up, too
		if c.tally, err = s.newTally(ctx, in); err != nil {
			return nil, err
		}
	}
	if !in.empty {
		err = s.fill(ctx, in, c, start)
	}
	if err == nil && r.Summarize {
		page.Summary, err = s.sumUp(ctx, in, r, page, c.tally)
	}
	if err != nil {
		page.Rows.Release()
		return nil, err
	}
	return page, nil
}

// executeStream reads all rows of a stream and encodes them.
func (s *Service) executeStream(ctx context.Context, in *read, segments *segments, w ResultsStream, holds *admission.Read, look *scopeWatch, token func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) && !admission.Refused(err) {
			err = errors.Join(context.DeadlineExceeded, err)
		}
	}()
	watch := time.AfterFunc(s.cfg.HardBudget, func() { cancel(context.DeadlineExceeded) })
	defer watch.Stop()
	c := &streamer{in: in, w: w, maxLine: s.cfg.MaxResponseBytes, stats: &s.stats, node: s.node, holds: holds}
	if to, ok := w.(TableStream); ok {
		c.to, c.batches = to, newBatcher(in.encoder, to.Flat())
	}
	in.query.Read = holds
	defer in.encoder.rich.chargeTo(holds)()
	step := func(send func() error) error {
		watch.Stop() // the client may be slow; only the store's time counts
		defer watch.Reset(s.cfg.HardBudget)
		if err := look.whenDue(ctx); err != nil {
			return err
		}
		return send()
	}
	if segments != nil {
		err = segments.read(ctx, c, step)
	} else {
		err = s.store.Results(ctx, in.vis, &in.query, func(b *Block) error {
			return step(func() error { return c.take(ctx, b) })
		})
	}
	if err != nil {
		return err
	}
	watch.Stop()
	if err := look.now(ctx); err != nil {
		return err
	}
	if err := token(ctx); err != nil {
		return err
	}
	return c.start()
}
