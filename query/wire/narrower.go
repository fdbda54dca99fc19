package wire

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"preismon/query"
)

// Narrower returns, for a read of /ext/v1 that was refused as too broad, the
// parameters of narrower reads of the same path that together cover it, in their
// order; none: none were found, or there are none of that path.
func Narrower(ctx context.Context, s *query.Service, p query.Principal, path, rawQuery string, refused error) ([]url.Values, error) {
	in := FromQuery(rawQuery)
	var attempts []query.ResultsRequest
	var err error
	switch path {
	case "/movers":
		req := movers(in)
		req.GlobalScope = req.Everything()
		attempts, err = s.MoverAttempts(ctx, p, req, refused)
	case "/statistics":
		attempts, err = s.StatisticsAttempts(ctx, p, statistics(in), refused)
	case "/position":
		req := selectedPositions(in)
		req.OwnMerchant, req.Amount = in.text("ownMerchant"), in.text("amount")
		attempts, err = s.PositionAttempts(ctx, p, req, refused)
	}
	if err != nil || len(attempts) == 0 {
		return nil, err
	}
	given, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, err
	}
	given.Del("cursor")
	given.Del("globalScope")
	accepted := Reads()[path].Parameters()
	var all []url.Values
	for _, one := range attempts {
		v := maps.Clone(given)
		for name, value := range ResultsArguments(one) {
			if slices.Contains(accepted, name) {
				v.Set(name, fmt.Sprint(value))
			}
		}
		all = append(all, v)
	}
	return all, nil
}
