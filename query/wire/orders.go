package wire

import (
	"context"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// orderRecord is an order as callers see it. Parts that are not included are
// absent; included parts are complete.
type orderRecord struct {
	OrderID   contracts.OrderID `json:"orderId"`
	Alias     *string           `json:"alias"`
	Name      string            `json:"name"`
	Active    bool              `json:"active"`
	CreatedAt instant           `json:"createdAt"`

	Monitoring     *query.OrderMonitoring `json:"monitoring,omitempty"`
	Coverage       *query.OrderCoverage   `json:"coverage,omitempty"`
	Health         query.Health           `json:"health,omitempty"`
	QualitySummary *query.QualityCounts   `json:"qualitySummary,omitempty"`
}

// qualityRecord is the state of one pair of an order.
type qualityRecord struct {
	ItemID                 contracts.ItemID  `json:"itemId"`
	Site                   contracts.SiteKey `json:"site"`
	ReasonCode             string            `json:"reasonCode"`
	ConfiguredObservations int               `json:"configuredObservations"`
	ExpectedProcessedByNow int               `json:"expectedProcessedByNow"`
	SourceCountsConsistent bool              `json:"sourceCountsConsistent"`
	LastCapturedAt         *instant          `json:"lastCapturedAt"`
}

// dueRecord also shows when the next capture of the pair is due, if that is
// known.
type dueRecord struct {
	qualityRecord
	NextDueAt *instant `json:"nextDueAt,omitempty"`
}

// instant is a time as shown in answers: UTC, to the millisecond.
type instant time.Time

// MarshalText writes the form of RFC 3339.
func (i instant) MarshalText() ([]byte, error) {
	return time.Time(i).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z07:00"), nil
}

func instantOf(t *time.Time) *instant {
	if t == nil || t.IsZero() {
		return nil
	}
	return (*instant)(t)
}

func orderOf(o query.Order) orderRecord {
	r := orderRecord{OrderID: o.OrderID, Alias: orNull(o.Alias), Name: o.Name, Active: o.Active, CreatedAt: instant(o.CreatedAt)}
	if o.Monitored != nil {
		r.Monitoring = new(o.Monitoring(time.UTC))
	}
	if q := o.Quality; q != nil {
		r.Coverage, r.Health = new(q.Coverage()), q.Health()
	}
	return r
}

// orderInDetail returns an order with everything that can be included.
func orderInDetail(o query.Order) orderRecord {
	r := orderOf(o)
	r.QualitySummary = new(o.Quality.Counts())
	return r
}

func qualityOf(q query.Quality) qualityRecord {
	return qualityRecord{
		ItemID: q.Item, Site: q.Site, ReasonCode: q.Reason.String(),
		ConfiguredObservations: q.ConfiguredObservations, ExpectedProcessedByNow: q.ExpectedProcessedByNow,
		SourceCountsConsistent: q.SourceCountsConsistent, LastCapturedAt: instantOf(&q.LastCapturedAt),
	}
}

func dueOf(q query.Quality) dueRecord { return dueRecord{qualityOf(q), instantOf(&q.NextDueAt)} }

// Alias reads the alias of orders.
func Alias(in *Params) string { return in.text("alias") }

// Orders lists visible orders.
func Orders(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	req := query.OrdersRequest{
		Limit: in.limit(), Cursor: in.cursor(), OrderID: id[contracts.OrderID](in, "orderId"), Alias: Alias(in),
		IncludeMonitoring: in.flag("includeMonitoring"), IncludeCoverage: in.flag("includeCoverage"),
	}
	return list(ctx, p, in, req, s.Orders, orderOf)
}

// Order returns one order in detail.
func Order(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	id := in.orderID()
	if err := in.Err(); err != nil {
		return nil, err
	}
	order, err := s.Order(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return orderInDetail(*order), nil
}

// ObservationQuality lists the state of the pairs of an order.
func ObservationQuality(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	return list(ctx, p, in, decodeQuality(in), s.ObservationQuality, qualityOf)
}

// ItemQuality is ObservationQuality, for one item if one is requested. It also
// shows when each pair is due, and returns the status of all pairs by site, as
// query.Service.QualityBySite does.
func ItemQuality(ctx context.Context, s *query.Service, p query.Principal, in *Params) (page any, sites []query.SiteStatus, err error) {
	req := decodeQuality(in)
	req.ItemID = id[contracts.ItemID](in, "itemId")
	if err := in.refused(req); err != nil {
		return nil, nil, err
	}
	found, sites, err := s.QualityBySite(ctx, p, req)
	if err != nil {
		return nil, nil, err
	}
	return shown(found, dueOf), sites, nil
}

func decodeQuality(in *Params) query.QualityRequest {
	return query.QualityRequest{
		Limit: in.limit(), Cursor: in.cursor(), OrderID: in.orderID(), Site: in.site(), ReasonCode: in.text("reasonCode"),
	}
}
