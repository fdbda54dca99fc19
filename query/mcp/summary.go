package mcp

import "preismon/query"

// resultsSummary is that of the service, but for sites without a row, of which
// there may be many.
type resultsSummary struct {
	Returned int `json:"returned"` // rows of this page
	query.Summary
	// OtherSites have no row either, and are not listed; null: none.
	OtherSites *otherSites `json:"otherSites"`
}

// otherSites counts sites without a row.
type otherSites struct {
	Count    int     `json:"count"`
	NoResult *uint64 `json:"noResult"` // their pairs; null of a page
}

const (
	maxSilentSites = 50 // sites without a row that are listed
	fewBoxes       = 3  // merchants with a buy box at each site, where several sites have some
)

func summaryOf(page *query.ResultsPage) resultsSummary {
	sum := resultsSummary{Returned: page.Paging.Returned, Summary: *page.Summary}
	sum.Sites = []query.SiteSummary{}
	silent, boxes := 0, 0
	for _, site := range page.Summary.Sites {
		if site.SiteRows == nil {
			if silent++; silent > maxSilentSites {
				sum.leaveOut(site)
				continue
			}
		} else if len(site.BuyBox) > 0 {
			boxes++
		}
		sum.Sites = append(sum.Sites, site)
	}
	for i, site := range sum.Sites {
		if boxes > 1 && site.SiteRows != nil && len(site.BuyBox) > fewBoxes {
			rows := *site.SiteRows
			rows.BuyBox = rows.BuyBox[:fewBoxes]
			sum.Sites[i].SiteRows = &rows
		}
	}
	return sum
}

func (s *resultsSummary) leaveOut(site query.SiteSummary) {
	if s.OtherSites == nil {
		s.OtherSites = &otherSites{}
	}
	s.OtherSites.Count++
	if site.NoResult == nil {
		return
	}
	if s.OtherSites.NoResult == nil {
		s.OtherSites.NoResult = new(uint64)
	}
	*s.OtherSites.NoResult += *site.NoResult
}
