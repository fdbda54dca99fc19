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

// maxSilentSites is how many sites without a row are listed.
const maxSilentSites = 50

func summaryOf(page *query.ResultsPage) resultsSummary {
	sum := resultsSummary{Returned: page.Paging.Returned, Summary: *page.Summary}
	sum.Sites = []query.SiteSummary{}
	silent := 0
	for _, site := range page.Summary.Sites {
		if site.SiteRows == nil {
			if silent++; silent > maxSilentSites {
				sum.leaveOut(site)
				continue
			}
		}
		sum.Sites = append(sum.Sites, site)
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
