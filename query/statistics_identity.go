package query

import (
	"context"
	"slices"

	"preismon/contracts"
)

// identityBytes is roughly what the identity of a product takes.
const identityBytes = 600

// StatisticIdentity has what is known of a product, under the names that the
// identity fields of results have; nil: not known.
type StatisticIdentity struct {
	EAN          *string `json:"ean"`
	PZN          *string `json:"pzn"`
	ASIN         *string `json:"asin"`
	ASINLocale   *string `json:"asinLocale"`
	ProductName  *string `json:"productName"`
	Brand        *string `json:"brand"`
	Manufacturer *string `json:"manufacturer"`
}

// identify adds the identity of its product to each record.
func (s *Service) identify(ctx context.Context, v Visibility, records []StatisticRecord) error {
	var ids []contracts.ItemID
	for i := range records {
		ids = append(ids, *records[i].ItemID)
	}
	ids = slices.Compact(ids) // they come by product
	if len(ids) == 0 {
		return nil
	}
	items, err := s.store.itemsOf(ctx, v, ids)
	if err != nil {
		return err
	}
	of := make(map[contracts.ItemID]*StatisticIdentity, len(items))
	for _, i := range items {
		of[i.ItemID] = identityOf(i)
	}
	for i := range records {
		if records[i].Identity = of[*records[i].ItemID]; records[i].Identity == nil {
			records[i].Identity = &StatisticIdentity{}
		}
	}
	return nil
}

func identityOf(i contracts.Item) *StatisticIdentity {
	return &StatisticIdentity{orNull(i.EAN), orNull(i.PZN), orNull(i.ASIN), orNull(i.ASINLocale), orNull(i.Name), orNull(i.Brand), orNull(i.Manufacturer)}
}
