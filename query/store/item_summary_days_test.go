package store_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// checkDays compares the days of each site with the statistics by day.
func (w *world) checkDays(t *testing.T, a contracts.AccountID, r query.ItemSummaryRequest, from, to time.Time, markets []query.ItemMarket, met map[string]int) {
	t.Helper()
	rows := query.ResultsRequest{ItemID: r.ItemID, Site: r.Site, Timezone: r.Timezone, CapturedFrom: from.Format(time.RFC3339), CapturedTo: to.Format(time.RFC3339), Limit: ptr(10_000)}
	records, _ := w.statistics(t, a, query.StatisticsRequest{ResultsRequest: rows, By: query.BySite, Bucket: "day"})
	want, got := map[string]string{}, map[string]string{}
	restricted := func(rec query.StatisticRecord) bool {
		ends := [2]int64{}
		for i, text := range []string{rec.From, rec.To} {
			at := must.Get(time.Parse(time.RFC3339Nano, text))(t)
			ends[i] = at.UnixMilli()
		}
		until := min(ends[1], to.UnixMilli()+1, w.now.UnixMilli())
		sum := w.addUp(a, query.StatisticsRequest{ResultsRequest: rows, By: query.BySite}, ends[0], until, ends[:])[*rec.Site+"\x0000000"]
		return sum != nil && sum.restricted > 0
	}
	for _, rec := range records {
		begins := must.Get(time.Parse(time.RFC3339Nano, rec.From))(t)
		if begins.Equal(to) && !to.Equal(from) { // the midnight that ends the window
			continue
		}
		in, out := rec.Seconds.InStock != "0.000", rec.Seconds.OutOfStock != "0.000"
		if !in && !out && rec.Seconds.Unknown == "0.000" {
			continue
		}
		state := map[[2]bool]string{{true, true}: "PARTLY_IN_STOCK", {true, false}: "IN_STOCK", {false, true}: "OUT_OF_STOCK", {false, false}: "UNKNOWN"}[[2]bool{in, out}]
		if state == "UNKNOWN" && restricted(rec) {
			state = "ACCESS_RESTRICTED"
			met["restricted day"]++
		}
		want[*rec.Site+" "+rec.From[:10]] = state
	}
	for _, m := range markets {
		for _, site := range m.Sites {
			for _, day := range site.Days {
				got[string(site.Site)+" "+day.Date] = day.State
			}
			w.checkDayCounts(t, r, site, from, to)
			w.checkRuns(t, a, r, site, from, to, met)
			newest := w.oracle(a, query.ResultsRequest{ItemID: r.ItemID, Site: site.Site, LatestObservationPerPair: true}, math.MinInt64, math.MaxInt64, w.rows)
			refused := slices.DeleteFunc(slices.Clone(newest), func(row obsRow) bool { return row.outcome != contracts.AccessRestricted })
			if none, all := len(refused) == 0, len(refused) == len(newest); none && site.AccessRestricted || !none && all && !site.AccessRestricted {
				t.Errorf("%+v: %+v for %+v", r, site, newest)
			}
			if site.AccessRestricted {
				met["restricted now"]++
			}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v (-want +got):\n%s", r, diff)
	}
}

// checkDayCounts compares the counts of a site with its days, and with the days
// of the window that have begun.
func (w *world) checkDayCounts(t *testing.T, r query.ItemSummaryRequest, site query.ItemSite, from, to time.Time) {
	t.Helper()
	zone := must.Get(time.LoadLocation(r.Timezone))(t)
	count := map[string]int{}
	for _, day := range site.Days {
		count[day.State]++
	}
	begun := 0
	until := min(max(to.UnixMilli(), from.UnixMilli()+1), w.now.UnixMilli())
	for day := from.In(zone); ; day = day.AddDate(0, 0, 1) {
		if time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone).UnixMilli() >= until {
			break
		}
		begun++
	}
	want := query.ItemDayCounts{
		InStock: count["IN_STOCK"], PartlyInStock: count["PARTLY_IN_STOCK"], OutOfStock: count["OUT_OF_STOCK"], AccessRestricted: count["ACCESS_RESTRICTED"],
		Unknown: count["UNKNOWN"], NotObserved: begun - len(site.Days),
	}
	if diff := gocmp.Diff(want, site.DayCounts); diff != "" {
		t.Fatalf("%+v, %s: days (-want +got):\n%s", r, site.Site, diff)
	}
}
