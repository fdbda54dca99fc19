package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/search"
	"preismon/query/wire"
)

// recovery tells an agent what to do about a failure.
type recovery struct {
	Guidance          string           `json:"guidance"`
	RetryAfterSeconds int              `json:"retryAfterSeconds,omitempty"`
	Attempts          []wire.Arguments `json:"attempts,omitempty"`
}

// failureOf is a failure of a tool.
type failureOf struct {
	error
	tool *tool
	note string // what to do about it; empty: what the tool says
	// Of a read of results: what it asked, and calls of the same tool to make in
	// its place, if there are any: together they cover what was requested.
	request  query.ResultsRequest
	attempts []wire.Arguments
}

func (f *failureOf) Unwrap() error { return f.error }

// maxLooking bounds the search for attempts, because the caller is waiting for
// its refusal.
const maxLooking = 5 * time.Second

// withAttempts adds to a failed call the read of results that it made, and the
// attempts that are found for it, with the fields of the call.
func withAttempts(ctx context.Context, c Call, r query.ResultsRequest, failed error, find func(context.Context) ([]query.ResultsRequest, error)) *failureOf {
	ctx, cancel := context.WithTimeout(ctx, maxLooking)
	defer cancel()
	a := &failureOf{error: failed, request: r}
	found, err := find(ctx)
	if err != nil {
		return a // the refusal is sufficient without them
	}
	for _, one := range found {
		attempt := wire.ResultsArguments(one)
		if c.Fields != nil {
			attempt[fieldsArgument] = c.Fields
		}
		a.attempts = append(a.attempts, attempt)
	}
	return a
}

// recoveryOf returns what to do about a failure; nil: nothing beyond its
// detail.
func recoveryOf(failed error, problem wire.Problem) *recovery {
	r := &recovery{}
	if f, ok := errors.AsType[*failureOf](failed); ok {
		r.Attempts, r.Guidance = f.attempts, cmp.Or(f.note, f.tool.guidance(problem.Code, f.request))
	}
	if u, ok := errors.AsType[*wire.Unknown](failed); ok && r.Attempts == nil {
		return &recovery{Guidance: renamed(u)}
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

// renamed returns, for arguments that a tool does not have, which of its own
// are similar, or otherwise which ones it has.
func renamed(u *wire.Unknown) string {
	var all []string
	for _, name := range u.Names[:min(len(u.Names), 5)] {
		near := search.NearestTo(name)
		for _, known := range u.Known {
			if !qualifies(name, known) {
				near.Add(known, known)
			}
		}
		if found := near.Found(); len(found) > 0 {
			all = append(all, fmt.Sprintf("In place of %s: %s.", wire.Quote(name), strings.Join(found, ", ")))
		}
	}
	if len(all) < min(len(u.Names), 5) {
		all = append(all, fmt.Sprintf("The arguments are %s.", strings.Join(u.Known, ", ")))
	}
	return strings.Join(all, " ")
}

// qualifies reports whether an argument says more than a known one, as ownSite
// does of site: it means something else.
func qualifies(name, known string) bool {
	name, known = search.Fold(name), search.Fold(known)
	return name != known && strings.HasSuffix(name, known)
}

// tooBroad are the refusals whose page of the contract explains what to do.
var tooBroad = map[string]bool{
	query.CodeItemTooBroad: true, query.CodeOrderTooBroad: true, query.CodeHistoryTooBroad: true,
}

// failureResult returns the result of a tool that failed: the problem object of
// the contract, and what to do about it.
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
