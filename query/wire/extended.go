package wire

import (
	"context"

	"preismon/contracts"
	"preismon/query"
)

// Statistics summarizes observations.
func Statistics(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	return answered(ctx, p, statistics(in), in.Err(), s.Statistics)
}

func statistics(in *Params) query.StatisticsRequest {
	rows := Selected(in)
	rows.GlobalScope, rows.Brand = in.flag("globalScope"), in.text("brand")
	rows.CapturedFrom, rows.CapturedTo, rows.Timezone = in.text("capturedFrom"), in.text("capturedTo"), in.text("timezone")
	return query.StatisticsRequest{
		ResultsRequest: rows, By: query.Grouping(in.text("by")), Bucket: in.text("bucket"),
		Trend: in.flag("includeTrend"), Standing: in.flag("includeStanding"), Identity: in.flag("includeIdentity"),
	}
}

// Windows shows which parts of a period have which rows.
func Windows(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.WindowsRequest{Rows: results(in, func(p query.Parameter) bool { return p.Fed && p.Kind != query.IncludeParameter }), Bucket: in.text("bucket")}
	req.Since, _ = in.raw("since", maxCursorBytes)
	return answered(ctx, p, req, in.Err(), s.Windows)
}

// Evidence shows where the rows of a capture come from.
func Evidence(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.EvidenceRequest{
		ItemID: id[contracts.ItemID](in, "itemId"), Site: in.site(), CapturedAt: in.text("capturedAt"), Merchant: in.text("merchant"), Timezone: in.text("timezone"),
	}
	return answered(ctx, p, req, in.Err(), s.Evidence)
}

// SiteStatus shows how fresh sites are.
func SiteStatus(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.SiteStatusRequest{OrderID: id[contracts.OrderID](in, "orderId"), Site: in.site(), Timezone: in.text("timezone")}
	return answered(ctx, p, req, in.Err(), s.SiteStatus)
}

// OrderStatus shows how orders are doing.
func OrderStatus(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.OrderStatusRequest{OrderID: id[contracts.OrderID](in, "orderId"), Timezone: in.text("timezone")}
	if files := in.integer("files"); files != nil {
		req.Files = *files
	}
	return answered(ctx, p, req, in.refused(req), s.OrderStatus)
}

// Overview lists what changed and what needs attention.
func Overview(ctx context.Context, s *query.Service, p query.Principal, in *Params, _ []byte) (*Records, error) {
	req := query.OverviewRequest{Since: in.text("since"), Site: in.site(), OwnMerchant: in.text("ownMerchant"), Top: in.integer("top"), Timezone: in.text("timezone")}
	return answered(ctx, p, req, in.Err(), s.Overview)
}
