package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
)

// compareAssortment compares the file of the assortment, and its table, with
// the totals of the API.
func (s explorerSaid) compareAssortment(t *testing.T, client *api) {
	t.Helper()
	_, asked, _ := strings.Cut(s.Curl["assortment"], "/ext/v1/statistics?")
	asked, _, _ = strings.Cut(asked, "'")
	params, err := url.ParseQuery(asked)
	if err != nil || params.Get("by") != "product" || params.Get("globalScope") != "true" {
		t.Fatalf("the command asks %q, %v", s.Curl["assortment"], err)
	}
	var page struct {
		Data []struct {
			ItemID         string
			Pairs, Changes int
			ShareInStock   *float64
			BuyBox         []struct {
				Merchant *string
				Share    float64
			}
			Prices []struct {
				CurrencyCode     string
				Min, Median, Max float64
				Trend            []struct{}
				Standing         struct {
					Cheapest *struct {
						Site  string
						Price float64
					}
					OwnPrice, DifferencePercent *float64
				}
			}
		}
		Paging struct{ NextCursor string }
	}
	if _, body := client.get("/ext/v1/statistics", params); json.Unmarshal(body, &page) != nil || page.Paging.NextCursor != "" {
		t.Fatalf("statistics: %.500s", body)
	}
	var want []string
	points, own := 0, 0
	for _, r := range page.Data {
		share, merchant, wins := "", "", ""
		if r.ShareInStock != nil {
			share = fmt.Sprint(*r.ShareInStock)
		}
		if len(r.BuyBox) > 0 {
			wins = fmt.Sprint(r.BuyBox[0].Share)
			if r.BuyBox[0].Merchant != nil {
				merchant = *r.BuyBox[0].Merchant
			}
		}
		line := func(currency, prices, standing string) {
			want = append(want, fmt.Sprint(r.ItemID, " ", currency, " ", r.Pairs, prices, " ", share, " ", r.Changes, " ", merchant, " ", wins, standing))
		}
		if len(r.Prices) == 0 {
			line("", "   ", "    ")
		}
		for _, p := range r.Prices {
			standing := "  "
			if p.Standing.Cheapest != nil {
				standing = fmt.Sprint(" ", p.Standing.Cheapest.Price, " ", p.Standing.Cheapest.Site)
			}
			for _, n := range []*float64{p.Standing.OwnPrice, p.Standing.DifferencePercent} {
				if standing += " "; n != nil {
					standing += fmt.Sprint(*n)
					own++
				}
			}
			points += len(p.Trend)
			line(p.CurrencyCode, fmt.Sprint(" ", p.Min, " ", p.Median, " ", p.Max), standing)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(s.Assortment.File.Text)).ReadAll()
	if err != nil || s.Assortment.File.Name != "assortment.csv" || len(rows) < 2 {
		t.Fatalf("file %s: %.300s %v", s.Assortment.File.Name, s.Assortment.File.Text, err)
	}
	var got, names []string
	for _, r := range rows[1:] {
		sums := slices.Delete(slices.Clone(r), 1, 6) // without the identity
		got, names = append(got, strings.Join(sums, " ")), append(names, r[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	equals.Checkf(t, want, got, "assortment (-API +file)")
	for _, n := range s.Assortment.Drawn {
		points -= n
	}
	if points != 0 || own == 0 {
		t.Errorf("%d points of trends are not drawn; %d own prices and differences", points, own)
	}
	var shown []string
	for _, l := range s.Assortment.Lines {
		shown = append(shown, l[0])
	}
	slices.Sort(names)
	slices.Sort(shown)
	if !slices.Equal(names, shown) || !strings.HasPrefix(s.Assortment.Status, fmt.Sprintf("%d of %d lines", len(got), len(got))) {
		t.Errorf("the table has %d lines and says %q, the file has %d", len(shown), s.Assortment.Status, len(names))
	}
}
