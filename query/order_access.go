package query

import (
	"context"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// visibleOrder fails with ORDER_NOT_FOUND unless the caller sees the order.
// Another mandate's order, one outside the account's scope and one that does
// not exist are the same to it (choices 44).
func (s *Service) visibleOrder(ctx context.Context, v Visibility, order contracts.OrderID) error {
	seen := false
	if order != 0 {
		var err error
		if seen, err = s.store.OrderVisible(ctx, v, order); err != nil {
			return err
		}
	}
	if !seen {
		return fault.New(fault.NotFound, CodeOrderNotFound, "There is no such order that you may see.")
	}
	return nil
}

// orderFiles decides whether the caller may read the files of an order. A
// file is one piece and holds all sites of its order, so it is not for an
// account that is narrowed to some sites (VIS-05).
func (s *Service) orderFiles(ctx context.Context, p Principal, order contracts.OrderID) (Visibility, error) {
	a, err := s.access(ctx, p, contracts.ReadFiles)
	if err != nil {
		return Visibility{}, err
	}
	if !a.Visibility.Scope.AllSites {
		return Visibility{}, fault.New(fault.Forbidden, CodeForbidden,
			"This account may not read %s: it sees some sites only, and a file holds all sites of its order.", contracts.ReadFiles)
	}
	return a.Visibility, s.visibleOrder(ctx, a.Visibility, order)
}
