package query

import (
	"context"

	"preismon/contracts"
)

// read is an accepted results read: allowed, measured, and at its place.
type read struct {
	*resultsPlan
	vis     Visibility
	encoder *rowEncoder
	size    ScopeSize // where it had to be measured
	empty   bool      // no row can match
}

// apart is the same read, to be changed without changing this one.
func (in *read) apart() *read {
	of, plan := *in, *in.resultsPlan
	of.resultsPlan = &plan
	return &of
}

// accept does everything that may refuse a read, for pages and streams alike
// (RES-14a).
func (s *Service) accept(ctx context.Context, p Principal, r ResultsRequest) (*read, error) {
	plan, err := s.plan(p, r)
	if err != nil {
		return nil, err
	}
	return s.acceptPlan(ctx, p, plan, r)
}

// acceptPlan accepts a read that was understood.
func (s *Service) acceptPlan(ctx context.Context, p Principal, plan *resultsPlan, r ResultsRequest) (_ *read, err error) {
	a, err := s.access(ctx, p, contracts.ReadResults)
	if err != nil {
		return nil, err
	}
	return s.enter(ctx, plan, r, a.Visibility, a.Watermark)
}

// enter admits a read with what its caller sees and makes it ready.
func (s *Service) enter(ctx context.Context, plan *resultsPlan, r ResultsRequest, v Visibility, mark Watermark) (*read, error) {
	in, err := s.admit(ctx, plan, v, mark, r.Cursor, s.store.CountPairs)
	if err != nil {
		return in, s.fitting(ctx, plan, v, err)
	}
	if in.empty {
		return in, err
	}
	in.encoder, err = s.encoder(ctx, plan, v)
	return in, err
}

// encoder makes what encodes the rows of a read.
func (s *Service) encoder(ctx context.Context, plan *resultsPlan, v Visibility) (*rowEncoder, error) {
	var facts siteFacts
	if plan.include.ExportFields {
		var err error
		if facts, err = s.siteFacts(ctx, v); err != nil {
			return nil, err
		}
	}
	return newRowEncoder(plan, facts, newEnrichment(plan.include, s.store, v)), nil
}

// measure measures a scope as CountPairs of a Store does.
type measure func(context.Context, Visibility, Selectors) (ScopeSize, error)

// admit is the last part of accept that may refuse: nothing that it lets pass
// is refused later. The read has no encoder yet.
func (s *Service) admit(ctx context.Context, plan *resultsPlan, v Visibility, mark Watermark, cursor string, size measure) (*read, error) {
	if err := s.resume(plan, cursor, v, mark); err != nil {
		return nil, err
	}
	in := &read{resultsPlan: plan, vis: v}
	if in.empty = v.Nothing(); in.empty {
		s.measured(ctx, in)
		return in, nil
	}
	if plan.query.Latest != AllRows || explaining(ctx) != nil || plan.mostPairs > 0 || s.cfg.ScanGuardMaxPairs > 0 || s.cfg.ScanGuardMaxHours > 0 {
		size, err := size(ctx, in.vis, plan.query.Selectors)
		if err != nil {
			return nil, err
		}
		in.size = size
		s.measured(ctx, in)
		if err := s.guard(plan, size); err != nil {
			return nil, err
		}
	}
	in.empty = plan.query.nothing(v) // only now: a filter bypasses no refusal
	s.measured(ctx, in)
	return in, nil
}
