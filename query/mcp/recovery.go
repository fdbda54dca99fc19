package mcp

import (
	"context"
	"errors"
	"math"
	"time"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

// recovery says to an agent what to do about a failure.
type recovery struct {
	Guidance          string           `json:"guidance"`
	RetryAfterSeconds int              `json:"retryAfterSeconds,omitempty"`
	Attempts          []wire.Arguments `json:"attempts,omitempty"`
}

// avoidable is a failure with calls of the same tool that will do in its
// place: together they cover what was asked for.
type avoidable struct {
	error
	attempts []wire.Arguments
}

func (a *avoidable) Unwrap() error { return a.error }

// maxLooking bounds the time to look for attempts: the caller waits for a
// refusal.
const maxLooking = 5 * time.Second

// withAttempts adds the attempts that the service knows to a failed read of
// results. Without any the failure stays as it is.
func withAttempts(ctx context.Context, s *query.Service, p query.Principal, r query.ResultsRequest, failed error) error {
	ctx, cancel := context.WithTimeout(ctx, maxLooking)
	defer cancel()
	found, err := s.Attempts(ctx, p, r, failed)
	if err != nil || len(found) == 0 {
		return failed // it says enough without
	}
	attempts := make([]wire.Arguments, len(found))
	for i, one := range found {
		attempts[i] = wire.ResultsArguments(one)
	}
	return &avoidable{failed, attempts}
}

// guidance says what to do about a code, where the contract's own words for
// people do not fit.
var guidance = map[string]string{
	query.CodeScopeTooBroad: "Send the attempts, if there are any, in place of this call; together they cover it. Else shorten the window " +
		"(24, 12, 6, 1 hours), and only then read fewer sites. A global read keeps both bounds, no selector and at most 168 hours.",
	query.CodeLatestPairTooBroad: "Narrow by item (itemId), order (orderId), site (site) or product identifier (ean, pzn, asin with " +
		"asinLocale). The attempts, if there are any, do so and together cover this call.",
	query.CodeQueryTimeout: "Send the attempts, if there are any, in place of this call. Else shorten the window in the order 24, 12, 6, " +
		"1 hours, and only then read fewer sites. Keep what succeeded, and call the combined answer incomplete when a part is left out.",
	query.CodeOrderCoverageTooBroad: "Name one order (orderId), lower limit, or leave out includeCoverage and includeMonitoring.",
	query.CodeValidation: "Send the attempts in place of this call: a window needs a product, an order or a site, so they ask site by site. " +
		"Together they cover it.",
}

// recoveryOf is what to do about a failure; nil: nothing but what its detail
// says.
func recoveryOf(failed error, problem wire.Problem) *recovery {
	r := &recovery{Guidance: guidance[problem.Code]}
	if a, ok := errors.AsType[*avoidable](failed); ok {
		r.Attempts = a.attempts
	}
	switch kind := fault.KindOf(failed); {
	case kind == fault.RateLimited || kind == fault.Unavailable:
		r.RetryAfterSeconds = max(1, int(math.Ceil(problem.RetryAfter.Seconds())))
		r.Guidance = "Wait retryAfterSeconds, then send the same call again."
	case problem.Code == query.CodeValidation && r.Attempts == nil:
		return nil
	case r.Guidance == "" && tooBroad[problem.Code]:
		meaning, _ := wire.MeaningOf(problem.Code)
		r.Guidance = meaning.Remedy
	case r.Guidance == "":
		return nil
	}
	return r
}

// tooBroad are the refusals whose page of the contract says what to do.
var tooBroad = map[string]bool{
	query.CodeItemTooBroad: true, query.CodeOrderTooBroad: true, query.CodeHistoryTooBroad: true,
}

// failureResult is the result of a tool that failed: the problem object of the
// contract, and what to do about it.
func failureResult(failed error, problem wire.Problem) Result {
	object, err := wire.Marshal(struct {
		wire.Problem
		Recovery *recovery `json:"recovery,omitempty"`
	}{problem, recoveryOf(failed, problem)})
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return Result{Object: object, Failed: true}
}

func (h *handler) failedResult(failed error) Result {
	return failureResult(failed, wire.ProblemOf(failed, h.cfg.BaseURL))
}
