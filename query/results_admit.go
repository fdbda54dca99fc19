package query

import "context"

// read is an accepted results read: allowed, measured, and at its position.
type read struct {
	*resultsPlan
	vis     Visibility
	encoder *rowEncoder
	size    ScopeSize // if it had to be measured
	empty   bool      // no row can match
}

// clone returns a copy of the read that can be changed without changing this
// one.
func (in *read) clone() *read {
	of, plan := *in, *in.resultsPlan
	of.resultsPlan = &plan
	return &of
}

// measure measures a scope as CountPairs of a Store does.
type measure func(context.Context, Visibility, Selectors) (ScopeSize, error)

// position starts a plan at its cursor, and refuses it if its scope is too
// large. The read has no encoder yet.
func (s *Service) position(ctx context.Context, plan *resultsPlan, v Visibility, mark Watermark, size measure) (*read, error) {
	if err := s.resume(plan, v, mark); err != nil {
		return nil, err
	}
	in := &read{resultsPlan: plan, vis: v}
	if in.empty = v.Nothing(); in.empty {
		s.noteRead(ctx, in)
		return in, nil
	}
	if plan.query.Latest != AllRows || explaining(ctx) != nil || plan.mostPairs > 0 || s.cfg.ScanGuardMaxPairs > 0 || s.cfg.ScanGuardMaxHours > 0 {
		size, err := size(ctx, in.vis, plan.query.Selectors)
		if err != nil {
			return nil, err
		}
		in.size = size
		s.noteRead(ctx, in)
		if err := s.guard(plan, size); err != nil {
			return nil, err
		}
	}
	if plan.endless && !plan.given.To { // only now: the rows that exist end about now
		plan.query.Window.To, plan.query.ToNow = farFuture, false
	}
	in.empty = plan.query.nothing(v) // only now: a filter bypasses no refusal
	s.noteRead(ctx, in)
	return in, nil
}

// encoder returns the encoder of the rows of a read.
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
