package mcp

import (
	"maps"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

// checker refuses the arguments of a task with which a call that it prints
// would be refused, and names all that is wrong. What the task leaves to the
// agent is not missed.
type checker func(query.Principal, wire.Arguments) error

// resultsCall checks those of a task around list_results. Where the task names
// no site, the agent finds one.
func resultsCall(s *query.Service) checker {
	return func(p query.Principal, given wire.Arguments) error {
		params, err := paramsOf(given)
		if err != nil {
			return err
		}
		req, err := wire.DecodeResults(params)
		if err != nil {
			return err
		}
		if req.Site == "" {
			req.Site = "any"
		}
		return s.Check(p, req)
	}
}

// observationCall checks those of a task around one capture: a window of one
// instant.
func observationCall(s *query.Service) checker {
	return func(p query.Principal, given wire.Arguments) error {
		at, ok := given["capturedAt"].(string)
		if _, err := contracts.ParseLower(at, time.UTC); ok && err != nil {
			return fault.New(fault.Invalid, query.CodeValidation, "capturedAt: %s.", err)
		}
		given = maps.Clone(given)
		if delete(given, "capturedAt"); ok {
			given["capturedFrom"], given["capturedTo"] = at, at
		}
		return resultsCall(s)(p, given)
	}
}

// orderCall checks those of a task around the sites of a country or an order.
func orderCall(s *query.Service) checker {
	return func(p query.Principal, given wire.Arguments) error {
		if country, ok := given["country"].(string); ok && !contracts.ValidCountry(country) {
			return fault.New(fault.Invalid, query.CodeValidation, "country: %s is not two capital letters like DE.", wire.Quote(country))
		}
		given = maps.Clone(given)
		delete(given, "country")
		return resultsCall(s)(p, given)
	}
}

// positionCall checks those of a task around get_market_price_position. Where
// the task names no product, the agent finds one.
func positionCall(_ query.Principal, given wire.Arguments) error {
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

// paramsOf are arguments as a call has them.
func paramsOf(given wire.Arguments) (*wire.Params, error) {
	object, err := wire.Marshal(given)
	return wire.FromArguments(object), err
}
