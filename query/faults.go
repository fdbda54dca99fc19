package query

import (
	"errors"
	"time"

	"preismon/contracts/fault"
)

// timeless interprets requests without knowing the time: no bound is in its
// future.
var timeless = &Service{now: func() time.Time { return time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC) }}

// Faults adds, to a fault in the form of a request, everything else that is
// wrong with it, so that one refusal names all.
func (r ResultsRequest) Faults(form error) error {
	_, err := timeless.plan(Principal{}, r)
	return joinFaults(form, err)
}

// Faults is the same for movers.
func (r MoversRequest) Faults(form error) error {
	_, _, _, _, err := timeless.understandMovers(Principal{}, r)
	return joinFaults(form, err)
}

// Faults is the same for positions.
func (r PositionsRequest) Faults(form error) error {
	_, err := timeless.understandPositions(Principal{}, &r)
	return joinFaults(form, err)
}

// Faults is the same for a market position.
func (r PositionRequest) Faults(form error) error { return joinFaults(form, r.Check()) }

// Faults is the same for a list of sites.
func (r SitesRequest) Faults(form error) error { return faultsOfList(form, nil, r.Limit) }

// Faults is the same for a list of items.
func (r ItemsRequest) Faults(form error) error { return faultsOfList(form, r.wrong(), r.Limit) }

// Faults is the same for a list of orders.
func (r OrdersRequest) Faults(form error) error { return faultsOfList(form, nil, r.Limit) }

// Faults is the same for the status of orders.
func (r OrderStatusRequest) Faults(form error) error { return joinFaults(form, r.wrong()) }

// Faults is the same for the quality of an order.
func (r QualityRequest) Faults(form error) error { return faultsOfList(form, r.wrong(), r.Limit) }

// Faults is the same for exports or imports.
func (r FileJobsRequest) Faults(form error) error { return faultsOfList(form, nil, r.Limit) }

// Faults is the same for a history.
func (r HistoryRequest) Faults(form error) error {
	_, wrong := historyQuery(r)
	return faultsOfList(form, wrong, r.Limit)
}

func faultsOfList(form, wrong error, limit *int) error {
	_, err := pageLimit(limit, MaxLimit)
	return joinFaults(form, joinFaults(wrong, err))
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, CodeValidation, format, args...)
}

// joinFaults combines two errors of invalid into one refusal; either may be nil.
func joinFaults(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	first, ok := errors.AsType[*fault.Error](a)
	if !ok {
		return a
	}
	second, ok := errors.AsType[*fault.Error](b)
	if !ok {
		return b
	}
	return invalid("%s %s", first.Msg, second.Msg)
}

// faults collects what is wrong with a request into one refusal.
type faults struct{ err error }

func (f *faults) add(err error) { f.err = joinFaults(f.err, err) }

// check adds a fault unless ok.
func (f *faults) check(ok bool, format string, args ...any) {
	if !ok {
		f.add(invalid(format, args...))
	}
}
