package query

import (
	"context"

	"preismon/contracts"
	"preismon/contracts/fault"
)

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
	_, err = s.readOrder(ctx, a.Visibility, order)
	return a.Visibility, err
}
