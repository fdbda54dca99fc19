package contracts

import "cmp"

// Pair is one item at one site: the unit of monitoring and of visibility.
type Pair struct {
	Item ItemID
	Site SiteKey
}

// Compare orders pairs by item, then site.
func (p Pair) Compare(o Pair) int {
	return cmp.Or(cmp.Compare(p.Item, o.Item), cmp.Compare(p.Site, o.Site))
}
