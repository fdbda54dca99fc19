package mcp

import (
	"cmp"
	"slices"

	"preismon/query"
)

// resultsSummary is the summary of the service, without the sites for which an
// answer has no room.
type resultsSummary struct {
	Returned int `json:"returned"` // rows of this page
	query.Summary
	// OtherSites are those that are not listed; null: none.
	OtherSites *otherSites `json:"otherSites"`
}

// otherSites counts sites that are not listed, and their rows.
type otherSites struct {
	Count    int     `json:"count"`
	Rows     int     `json:"rows"`
	NoResult *uint64 `json:"noResult"` // their pairs; null for a page
}

const (
	maxSilentSites = 50 // how many sites without a row are listed
	fewBoxes       = 3  // merchants with a buy box at each site, if several sites have some
)

// summaryOf lists the sites with the most rows, then those without any, as far
// as they fit the room in bytes; the first one always does.
func summaryOf(page *query.ResultsPage, room int) resultsSummary {
	all := briefSites(page.Summary.Sites)
	first := make([]int, len(all))
	for i := range first {
		first[i] = i
	}
	slices.SortStableFunc(first, func(a, b int) int { return cmp.Compare(all[b].Rows(), all[a].Rows()) })
	sum := resultsSummary{Returned: page.Paging.Returned, Summary: *page.Summary}
	sum.Sites = []query.SiteSummary{}
	silent := 0
	var listed []int
	for _, i := range first {
		room -= len(marshal(all[i])) + len(",")
		if all[i].SiteRows == nil {
			silent++
		}
		if silent > maxSilentSites || room < 0 && len(listed) > 0 {
			sum.leaveOut(all[i])
			continue
		}
		listed = append(listed, i)
	}
	for _, i := range slices.Sorted(slices.Values(listed)) {
		sum.Sites = append(sum.Sites, all[i])
	}
	return sum
}

// briefSites returns the sites with few buy boxes each, if several sites have
// some.
func briefSites(sites []query.SiteSummary) []query.SiteSummary {
	all, boxes := slices.Clone(sites), 0
	for _, site := range all {
		if site.SiteRows != nil && len(site.BuyBox) > 0 {
			boxes++
		}
	}
	for i, site := range all {
		if boxes > 1 && site.SiteRows != nil && len(site.BuyBox) > fewBoxes {
			rows := *site.SiteRows
			rows.BuyBox = rows.BuyBox[:fewBoxes]
			all[i].SiteRows = &rows
		}
	}
	return all
}

func (s *resultsSummary) leaveOut(site query.SiteSummary) {
	if s.OtherSites == nil {
		s.OtherSites = &otherSites{}
	}
	s.OtherSites.Count++
	s.OtherSites.Rows += site.Rows()
	if site.NoResult == nil {
		return
	}
	if s.OtherSites.NoResult == nil {
		s.OtherSites.NoResult = new(uint64)
	}
	*s.OtherSites.NoResult += *site.NoResult
}
