package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Principal is the caller of a request, according to its token: only its
// identity. What it may see is read from the catalogue with each request.
type Principal struct{ Account contracts.AccountID }

// Access is what an account may do now.
type Access struct {
	Account        contracts.AccountID
	Administrative bool
	Disabled       bool
	Permissions    []contracts.Permission
	Visibility     Visibility
	// Watermark is how far every table is complete.
	Watermark Watermark
	// Generation of the rows, as in Edge.
	Generation uint64
	// Remembered: only Watermark, Generation and the floor were read for this
	// request, the rest was read at the same snapshot before.
	Remembered bool
}

// Visibility is the only description of what a caller sees: the pairs of the
// mandate's scope in its version in force, narrowed by the account.
type Visibility struct {
	Mandate contracts.MandateID
	// Versions of the mandate's scope in force, ascending: one for each
	// partition of the observations that has one. None: no pairs, nothing is
	// visible.
	Versions []uint64
	// Applied: observations_by_mandate holds exactly the pairs of Versions,
	// so that an account that sees its whole mandate needs no pair filter.
	Applied bool
	Scope   contracts.AccountScope
	// Floor is the capture time from which rows are kept, in Unix ms; 0: all
	// are. Older rows are not visible, whether or not they have been removed
	// yet.
	Floor int64 `json:",omitempty"`
	// Snapshot identifies the state that this was read at; see Snapshot.
	Snapshot Snapshot
	// Watermark is that of Access. What is seen does not depend on it.
	Watermark Watermark `json:"-"`
	// Catalogue is set for a stream whose text may be remembered: what its rows
	// show of the catalogue was read after these versions of it.
	Catalogue []uint64 `json:",omitempty"`
}

// Snapshot identifies how far the catalogue is applied, what is in force, and
// the generation of the rows. What one caller read at one snapshot of a store,
// up to one watermark, is the answer at any moment with the same three, so it
// may be remembered under them. 0: unknown, and nothing may be remembered.
type Snapshot uint64

// same reports whether two callers, or one at two moments, see the same.
func (v Visibility) same(w Visibility) bool {
	return v.Mandate == w.Mandate && v.Floor == w.Floor && slices.Equal(v.Versions, w.Versions) && v.Applied == w.Applied &&
		v.Scope.AllOrders == w.Scope.AllOrders && slices.Equal(v.Scope.Orders, w.Scope.Orders) &&
		v.Scope.AllSites == w.Scope.AllSites && slices.Equal(v.Scope.Sites, w.Scope.Sites)
}

// kept refuses a window that begins or ends before the time from which rows are
// kept: the answer would look as if nothing had been captured there. An open
// window begins at the floor.
func (v Visibility) kept(w contracts.Window) error {
	below := func(t time.Time) bool { return !t.IsZero() && t.UnixMilli() < v.Floor }
	if v.Floor == 0 || !below(w.From) && !below(w.To) {
		return nil
	}
	return invalid("Captures before %s are no longer kept. Request a window that begins then or later.", formatInstant(fromMs(v.Floor), time.UTC))
}

// checkCursor refuses the cursor of a walk that began before old rows were removed,
// or whose watermark the tables, after a restore, have not reached again.
func (v Visibility) checkCursor(now Watermark, floor int64, mark Watermark) error {
	switch {
	case v.Floor != floor:
		return errExpired
	case mark.Compare(now) > 0:
		return errBehind
	}
	return nil
}

var errBehind = &fault.Error{
	Kind: fault.Unavailable, RetryAfter: time.Second, Msg: "This node's tables are behind the cursor. Send the request again.",
}

// Nothing reports whether no pair at all can be visible.
func (v Visibility) Nothing() bool { return len(v.Versions) == 0 || v.Empty() }

// Empty reports whether the account may see nothing, whatever its mandate has:
// neither pairs nor orders, not even inactive ones.
func (v Visibility) Empty() bool {
	return !v.Scope.AllOrders && len(v.Scope.Orders) == 0 || !v.Scope.AllSites && len(v.Scope.Sites) == 0
}

// Watermark is a position in the stream up to which every table is complete. Reads
// look no further, so a page never shows half of a batch and a walk never meets
// rows that arrived after it began.
type Watermark struct {
	Epoch uint32 `json:"e"`
	Seq   uint64 `json:"s"`
}

// Compare orders positions as the stream does: -1, 0 or 1.
func (w Watermark) Compare(v Watermark) int {
	return cmp.Or(cmp.Compare(w.Epoch, v.Epoch), cmp.Compare(w.Seq, v.Seq))
}

// access decides whether the caller may read an area at all.
func (s *Service) access(ctx context.Context, p Principal, area contracts.Permission) (*Access, error) {
	a, err := s.account(ctx, p)
	if err == nil {
		err = a.refused(area)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// May refuses a caller that may not read all of these areas.
func (s *Service) May(ctx context.Context, p Principal, areas ...contracts.Permission) error {
	ctx, cancel := s.within(ctx)
	defer cancel()
	a, err := s.account(ctx, p)
	if err != nil {
		return err
	}
	return a.refused(areas...)
}

// account reads an account that may still read.
func (s *Service) account(ctx context.Context, p Principal) (*Access, error) {
	a, err := s.store.Access(ctx, p.Account)
	switch {
	case fault.KindOf(err) == fault.NotFound && err != nil:
		return nil, tokenInvalid()
	case err != nil:
		return nil, err
	case a.Disabled || a.Administrative:
		return nil, tokenInvalid()
	}
	return a, nil
}

// refused returns the refusal of the first area that the account may not read;
// nil: it may read all.
func (a *Access) refused(areas ...contracts.Permission) error {
	for _, area := range areas {
		if !a.may(area) {
			return fault.New(fault.Forbidden, CodeForbidden, "This account may not read %s.", area)
		}
	}
	return nil
}

func (a *Access) may(area contracts.Permission) bool { return slices.Contains(a.Permissions, area) }

func tokenInvalid() error {
	return fault.New(fault.Unauthenticated, CodeTokenInvalid, "The access token is missing, expired, malformed or revoked.")
}
