package mcp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

// checker refuses the arguments of a task if a call that it prints would be
// refused because of them, and names all faults. What the task leaves to the
// agent may be missing.
type checker func(context.Context, *query.Service, query.Principal, wire.Arguments) error

// resultsCall checks the arguments of a task around list_results. If the task
// names no site, the agent finds one.
func resultsCall(_ context.Context, s *query.Service, p query.Principal, given wire.Arguments) error {
	req, err := resultsOf(given)
	if err != nil {
		return err
	}
	req.Site = cmp.Or(req.Site, "any")
	return s.Check(p, req)
}

// observationCall checks the arguments of a task around one capture: a window
// of one instant.
func observationCall(ctx context.Context, s *query.Service, p query.Principal, given wire.Arguments) error {
	at, ok := given["capturedAt"].(string)
	if _, err := contracts.ParseLower(at, time.UTC); ok && err != nil {
		return fault.New(fault.Invalid, query.CodeValidation, "capturedAt: %s.", err)
	}
	given = maps.Clone(given)
	if delete(given, "capturedAt"); ok {
		given["capturedFrom"], given["capturedTo"] = at, at
	}
	return resultsCall(ctx, s, p, given)
}

// orderCall checks the arguments of a task around the sites of a country or an
// order.
func orderCall(ctx context.Context, s *query.Service, p query.Principal, given wire.Arguments) error {
	if country, ok := given["country"].(string); ok && !contracts.ValidCountry(country) {
		return fault.New(fault.Invalid, query.CodeValidation, "country: %s is not two capital letters like DE.", wire.Quote(country))
	}
	given = maps.Clone(given)
	delete(given, "country")
	if err := resultsCall(ctx, s, p, given); err != nil || given["orderId"] == nil {
		return err
	}
	_, err := first(wire.Orders)(ctx, s, p, wire.Arguments{"orderId": given["orderId"]})
	if fault.KindOf(err) == fault.NotFound {
		return fault.New(fault.Invalid, query.CodeValidation, "orderId: not one of the orders that you see; list_orders lists them.")
	}
	return err
}

// positionCall checks the arguments of a task around get_market_price_position.
// If the task names no product, the agent finds one.
func positionCall(_ context.Context, _ *query.Service, _ query.Principal, given wire.Arguments) error {
	params, err := paramsOf(given)
	if err != nil {
		return err
	}
	req, err := wire.DecodePosition(params)
	if err != nil {
		return err
	}
	if req.EAN+req.PZN+req.ASIN+req.ASINLocale == "" && req.ItemID == 0 {
		req.ItemID = 1
	}
	return req.Check()
}

// paramsOf returns the arguments of a prompt, which are texts, as parameters.
func paramsOf(given wire.Arguments) (*wire.Params, error) {
	object, err := wire.Marshal(given)
	return wire.FromTexts(object), err
}

// resultsOf returns the read of results that a task's arguments stand for.
func resultsOf(given wire.Arguments) (query.ResultsRequest, error) {
	params, err := paramsOf(given)
	if err != nil {
		return query.ResultsRequest{}, err
	}
	return wire.DecodeResults(params)
}

// newest returns the argument with which a task's read of the newest rows will
// be accepted; empty: none.
type newest func(context.Context, *query.Service, query.Principal, wire.Arguments) (string, error)

// newestArguments are the arguments of reads of the newest rows, the better one
// first.
var newestArguments = []string{"latestPerPair", "latestObservationPerPair"}

// newestCall is a newest for a read with the arguments of the task.
func newestCall(ctx context.Context, s *query.Service, p query.Principal, given wire.Arguments) (string, error) {
	for _, name := range newestArguments {
		arguments := maps.Clone(given)
		arguments[name] = "true"
		req, err := resultsOf(arguments)
		if err != nil {
			return "", err
		}
		page, err := s.Results(query.Explain(ctx, &query.Explanation{}), p, req)
		if page != nil { // without rows, because the caller sees nothing of it
			page.Rows.Release()
		}
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != query.CodeLatestPairTooBroad && f.Code != query.CodeScopeTooBroad {
			return name, nil // otherwise the call itself reports what is wrong
		}
	}
	return "", nil
}

// buyBoxCall is a newest for a read of a country market: the one that the task
// names, or otherwise all that the caller sees.
func buyBoxCall(ctx context.Context, s *query.Service, p query.Principal, given wire.Arguments) (string, error) {
	if given["site"] != nil {
		return newestCall(ctx, s, p, given)
	}
	most := query.MaxLimit
	sites, err := s.Sites(ctx, p, query.SitesRequest{Limit: &most})
	if err != nil {
		return newestArguments[0], nil // list_sites reports why
	}
	worst := 0
	for _, site := range sites.Data {
		if !site.CanonicalCountryMarket {
			continue
		}
		at := maps.Clone(given)
		at["site"] = string(site.Site)
		name, err := newestCall(ctx, s, p, at)
		if err != nil || name == "" {
			return "", err
		}
		worst = max(worst, slices.Index(newestArguments, name))
	}
	return newestArguments[worst], nil
}
