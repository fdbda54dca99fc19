package query

import (
	"context"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// orderFiles decides whether the caller may read which files an order has.
func (s *Service) orderFiles(ctx context.Context, p Principal, order contracts.OrderID) (Visibility, error) {
	a, err := s.access(ctx, p, contracts.ReadFiles)
	if err != nil {
		return Visibility{}, err
	}
	return a.Visibility, s.ofOrder(order)(ctx, a.Visibility)
}

// ofOrder returns the of function of a list that belongs to an order.
func (s *Service) ofOrder(order contracts.OrderID) func(context.Context, Visibility) error {
	return func(ctx context.Context, v Visibility) error {
		_, err := s.readOrder(ctx, v, order)
		return err
	}
}

// orderContent decides whether the caller may read what is in the files of an
// order that it sees. A file is one piece and may hold every item at every site
// of its order, so only callers that see all of them may read it (VIS-01b,
// VIS-05).
func (s *Service) orderContent(ctx context.Context, v Visibility, order contracts.OrderID) error {
	whole, err := s.store.SeesWholeOrder(ctx, v, order)
	if err == nil && !whole {
		return fault.New(fault.Forbidden, CodeForbidden,
			"A file may hold every item and every site of its order, and this account sees only some of them. The lists of files can be read.")
	}
	return err
}
