package main

import (
	"context"
	"strings"
)

// The month of the target: 10,000 products, each captured twice a day.
const (
	monthDatabase = extraPrefix + "month"
	monthProducts = 10_000
	monthDays     = 30
	monthSeconds  = 1 // the target
)

// measureMonth computes the statistics of 10,000 products over 30 days, from the
// request to the last record that its client has decoded.
func (r *run) measureMonth(ctx context.Context) {
	r.makeMonth(ctx)
	var contestants []contestant
	buckets := []string{"whole", "day"}
	for _, bucket := range buckets {
		query := window(dataEnd.AddDate(0, 0, -monthDays), dataEnd, "site", "shop-01.example", "by", "product", "bucket", bucket, "limit", "10000")
		contestants = append(contestants, contestant{"bucket=" + bucket, r.statistics(monthDatabase, query)})
	}
	const title = "statistics of 10,000 products over 30 days"
	t := r.table(strings.ToUpper(title[:1])+title[1:],
		"A page of 10,000 records as JSON, from the request to the last decoded record; two captures a day of each product at one site.")
	series := r.compareWork(ctx, t, monthDatabase, byMandate, r.size.warm, r.size.readRounds, contestants...)
	for i, bucket := range buckets {
		r.put("statistics_month_"+bucket, title+", bucket="+bucket, "s", series[i].all(), monthSeconds, true, "end to end")
	}
}

// makeMonth makes a database for the month, and a query service on it.
func (r *run) makeMonth(ctx context.Context) {
	fill := append(r.world.copies(monthDatabase, "1", "accounts", "mandates", "sites", "items", "checkpoints"), statements("month.sql", map[string]any{
		"Database": monthDatabase, "Mandate": statisticsMandate, "FirstItem": firstItem, "Products": monthProducts, "Days": monthDays,
		"EndMs": dataEnd.UnixMilli(), "Epoch": epoch,
	})...)
	r.makeDatabase(ctx, monthDatabase, fill...)
	r.serve(ctx, monthDatabase)
}
