package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// compareOverview compares the start page with the reads that it is built from.
// The market goes on meanwhile, so counts may differ a little.
func (s explorerSaid) compareOverview(t *testing.T, client *api) {
	t.Helper()
	var positions struct {
		Data  []struct{ ItemID string }
		Query struct{ Positions, WithoutOwn int }
	}
	if _, body := client.get("/ext/v1/position", url.Values{"limit": {"10"}}); json.Unmarshal(body, &positions) != nil || len(positions.Data) != 10 {
		t.Fatalf("position: %s", body)
	}
	var said int // as of a minute ago: a market disappears when nothing is in stock there
	if _, err := fmt.Sscanf(s.Stand.Summary, "Of %d products", &said); err != nil || max(said-positions.Query.Positions, positions.Query.Positions-said) > 3 || len(s.Stand.Rows) != len(positions.Data) {
		t.Errorf("the start says %q and has %d rows, the service has %+v", s.Stand.Summary, len(s.Stand.Rows), positions.Query)
	}
	var overview struct {
		Data []struct {
			List  string
			Count int
			Sites []struct{ Site string }
		}
		Query struct{ Movers struct{ Pairs int } }
	}
	if _, body := client.get("/ext/v1/overview", nil); json.Unmarshal(body, &overview) != nil || len(overview.Data) != 9 {
		t.Fatalf("overview: %s", body)
	}
	if !strings.HasPrefix(s.Moved.Summary, "Of "+strconv.Itoa(overview.Query.Movers.Pairs)+" pairs") || len(s.Moved.Rows) != 10 {
		t.Errorf("what moved: %q, %d rows", s.Moved.Summary, len(s.Moved.Rows))
	}
	counts := map[string]int{}
	for _, list := range s.Moved.Lists {
		name, count, _ := strings.Cut(list, " ")
		counts[name], _ = strconv.Atoi(count)
	}
	for _, list := range overview.Data[:7] { // some have moved within the minute
		if apart := max(list.Count-counts[list.List], counts[list.List]-list.Count); apart > 5 {
			t.Errorf("%s: %d on the page, %d by the service", list.List, counts[list.List], list.Count)
		}
	}
	last := 1e9
	for _, row := range s.Moved.Rows { // drops, the greatest first
		v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(row[1], ",", ""), "-"), " %"), 64)
		if err != nil || v > last || row[2] == "" || row[3] == "" || row[4] == "" || !strings.HasPrefix(row[1], "-") || !strings.Contains(row[5], "price down") {
			t.Errorf("what moved: %q", row)
		}
		last = v
	}
	for _, row := range s.Stand.Rows {
		if !strings.Contains(row[1], "%") || !strings.Contains(row[6], "offers") || strings.Contains(strings.Join(row, ""), "undefined") {
			t.Errorf("a position: %q", row)
		}
	}
	fresh := overview.Data[8].Sites
	if len(fresh) == 0 || len(s.Sites) != len(fresh) {
		t.Errorf("the start has %d sites, the service: %v", len(s.Sites), fresh)
	}
	for _, row := range s.Sites {
		if row[0] == "" || row[1] == "" || row[5] == "" {
			t.Errorf("a site: %q", row)
		}
	}
}
