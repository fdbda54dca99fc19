package query

import (
	"context"
	"encoding/json"
	"slices"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// maxDetailed is the maximum number of products on a page whose records contain
// more than sums.
const maxDetailed = 1_000

// StatisticStanding is where the customer stands with a product in a currency,
// among the offers that are current at the end of the time that the statistics
// cover, selected as in Positions, in all countries.
type StatisticStanding struct {
	Offers   int        `json:"offers"`
	Cheapest *BestOffer `json:"cheapest"` // nil: no offer is current
	// OwnPrice is nil unless exactly one reference price of the customer
	// applies to these offers.
	OwnPrice          *json.Number `json:"ownPrice"`
	Difference        *json.Number `json:"difference"` // own minus cheapest
	DifferencePercent *json.Number `json:"differencePercent"`
}

// checkDetails refuses details that only sums of a product in the whole window
// have.
func (r *StatisticsRequest) checkDetails(limit int) error {
	switch {
	case r.Identity && r.By != ByProduct:
		return invalid("includeIdentity needs by=product.")
	case !r.Trend && !r.Standing:
		return nil
	case r.By != ByProduct || r.Bucket != "whole":
		return invalid("includeTrend and includeStanding need by=product and bucket=whole.")
	case limit > maxDetailed:
		return invalid("limit: %d is outside 1 to %d with includeTrend or includeStanding.", limit, maxDetailed)
	}
	return nil
}

// detailBytes is the charge for the details.
func (r *StatisticsRequest) detailBytes(in *read, limit int) (bytes int64) {
	if r.Trend {
		bytes += int64(limit) * trendBytes
	}
	if r.Identity {
		bytes += int64(limit) * identityBytes
	}
	if r.Standing {
		bytes += int64(standingPairs(in, limit)) * positionPair
	}
	return bytes
}

// standingPairs is the maximum number of pairs of the products of a page.
func standingPairs(in *read, limit int) uint64 {
	return min(in.size.Pairs, uint64(limit)*in.size.Sites)
}

// checkStandings refuses pages with too many pairs whose offers would be
// compared.
func (r *StatisticsRequest) checkStandings(in *read, limit int) error {
	if pairs := standingPairs(in, limit); r.Standing && pairs > maxPositionPairs {
		return fault.New(fault.Invalid, CodeScopeTooBroad, "The products of a page have up to %d item-site pairs, at most %d with includeStanding. Send a new request with a smaller limit.", pairs, maxPositionPairs)
	}
	return nil
}

// addStandingsToPage adds to the records of a page where the customer stands with
// each, as of the page's watermark.
func (s *Service) addStandingsToPage(ctx context.Context, in *read, held *offerRoom, page *StatisticsPage, position statisticsCursor) error {
	var ids []contracts.ItemID
	prices := map[productMarket]*StatisticPricing{}
	for i := range page.Data {
		rec := &page.Data[i]
		ids = append(ids, *rec.ItemID)
		for k := range rec.Prices {
			prices[productMarket{*rec.ItemID, marketKey{currency: rec.Prices[k].CurrencyCode}}] = &rec.Prices[k]
		}
	}
	if len(prices) == 0 {
		return nil
	}
	of := in.clone()
	of.query.Watermark = position.Watermark
	of.query.Selectors = Selectors{Order: of.query.Selectors.Order, Site: of.query.Selectors.Site, Items: ItemsOf(ids)}
	return s.addStandings(ctx, of, held, position, prices)
}

// addStandings adds where the customer stands, in all countries together, to each
// price.
func (s *Service) addStandings(ctx context.Context, in *read, held *offerRoom, position statisticsCursor, prices map[productMarket]*StatisticPricing) error {
	to := fromMs(min(position.To, position.Until))
	in.query.Window, in.query.ToNow = contracts.Window{From: to.Add(-CurrentOffers), To: to}, position.Until <= position.To
	in.query.FromNow, in.query.Latest = in.query.ToNow, NewestWhole
	in.query.Current = s.current(&in.query)
	wanted := func(o offer, _ siteFacts) bool {
		return prices[productMarket{o.Item, marketKey{currency: o.Currency}}] != nil
	}
	offers, _, err := s.offers(ctx, in, held, wanted, nil)
	if err != nil {
		return err
	}
	offered := markets{}
	for _, o := range offers {
		offered.addItem(o, marketKey{currency: o.Currency})
	}
	if err := s.addReferences(ctx, in.vis, offered); err != nil {
		return err
	}
	for key, price := range prices {
		price.Standing = offered[key].ownStanding()
	}
	return nil
}

// ownStanding is empty if there is no market.
func (m *market) ownStanding() *StatisticStanding {
	at := &StatisticStanding{}
	if m == nil {
		return at
	}
	own, others := m.own(PositionsRequest{})
	slices.SortFunc(others, compareOffers)
	best := others[0]
	amount := func(minor int64) json.Number { return decimal(minor, m.currency) }
	at.Offers, at.Cheapest = len(others), new(best.best())
	if own != nil {
		at.OwnPrice, at.Difference = new(amount(own.Price)), new(amount(own.Price-best.Price))
		at.DifferencePercent = percent(own.Price-best.Price, best.Price)
	}
	return at
}
