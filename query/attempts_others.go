package query

import (
	"cmp"
	"context"

	"preismon/contracts"
)

// otherRead is how the attempts of a read of something else than rows differ
// from those of rows.
type otherRead struct {
	mostPairs uint64                                   // as of resultsPlan
	ways      []attemptWay                             // to try, in this order; nil: those of rows
	fits      func(in *read, w contracts.Window) error // what it refuses in addition; nil: nothing
}

// MoverAttempts is Attempts for a read of movers: the selectors and globalScope
// of each of the requests are those of a read of movers that is accepted, and
// their window is that of the refused one.
func (s *Service) MoverAttempts(ctx context.Context, p Principal, r MoversRequest, refused error) ([]ResultsRequest, error) {
	scoped := r
	scoped.GlobalScope = r.Everything() // so that this is not what is wrong with it
	rows, _, _, _, err := s.understandMovers(p, scoped)
	if err != nil {
		return nil, nil // cannot be requested in another way
	}
	rows.GlobalScope = r.GlobalScope
	return s.attempts(ctx, p, rows, otherRead{mostPairs: maxMoverPairs}, refused)
}

// StatisticsAttempts is Attempts for statistics: the selectors, the window and
// globalScope of each of the requests are those of statistics that are accepted.
// Each sums up its own part: of statistics by product they are products where
// 60 of them suffice, otherwise sites, and parts of the window only where sites
// do not suffice.
func (s *Service) StatisticsAttempts(ctx context.Context, p Principal, r StatisticsRequest, refused error) ([]ResultsRequest, error) {
	limit, err := pageLimit(r.Limit, MaxResultsLimit)
	if err != nil {
		return nil, nil // cannot be requested in another way
	}
	rows := r.ResultsRequest
	rows.Cursor, rows.Limit = "", nil
	zone, err := contracts.LoadZone(cmp.Or(r.Timezone, "UTC"))
	if err != nil {
		return nil, nil
	}
	other := otherRead{
		mostPairs: maxStatisticPairs,
		ways:      []attemptWay{(*attemptFinder).bySite, (*attemptFinder).byWindow, (*attemptFinder).byItem},
		fits: func(in *read, w contracts.Window) error {
			_, err := edgesOf(w.From, w.To, cmp.Or(r.Bucket, "whole"), zone)
			return cmp.Or(err, r.checkStandings(in, limit))
		},
	}
	if cmp.Or(r.By, ByProduct) == ByProduct {
		other.ways = []attemptWay{(*attemptFinder).byItem, (*attemptFinder).bySite, (*attemptFinder).byWindow}
	}
	return s.attempts(ctx, p, rows, other, refused)
}

// PositionAttempts is Attempts for positions: the selectors of each of the
// requests are those of a read of positions that is accepted. They are products
// where 60 of them suffice, and otherwise sites, among whose own offers the
// caller then stands; not sites if the caller is one of them.
func (s *Service) PositionAttempts(ctx context.Context, p Principal, r PositionsRequest, refused error) ([]ResultsRequest, error) {
	if _, err := s.understandPositions(p, &r); err != nil {
		return nil, nil // cannot be requested in another way
	}
	other := otherRead{mostPairs: maxPositionPairs, ways: []attemptWay{(*attemptFinder).byItem, (*attemptFinder).bySite}}
	if r.OwnSite != "" {
		other.ways = other.ways[:1]
	}
	return s.attempts(ctx, p, r.current(s.now().UTC().Truncate(contracts.Resolution)), other, refused)
}
