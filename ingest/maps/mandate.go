package maps

import (
	"slices"
	"strconv"
	"strings"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// ofMandate is a placeholder in source and columns.site.value for the mandate
// that a file is imported for. A guessed mapping contains it, so that two
// customers who import files with the same name share neither products nor a
// site.
const ofMandate = "{mandate}"

// For returns the mapping for a mandate, whose name replaces {mandate}. If no
// mandate is known yet, nothing replaces it.
func (m *Mapping) For(mandate string) *Mapping {
	if !strings.Contains(m.Source+m.Columns.Site.Value, ofMandate) {
		return m
	}
	own := *m
	own.Source = named(m.Source, mandate)
	own.Columns.Site.Value = m.siteFor(mandate)
	return &own
}

// siteFor returns columns.site.value for a mandate, in a form valid for a key:
// a slug has no underscore, so two parts joined by one cannot be mistaken for
// another pair.
func (m *Mapping) siteFor(mandate string) string {
	value := m.Columns.Site.Value
	if !strings.Contains(value, ofMandate) {
		return value
	}
	key := slug(mandate)
	if key == "" && mandate != "" {
		key = "mandate-" + strconv.FormatInt(int64(MandateID(mandate)), 10)
	}
	if value == ofMandate+"_"+key { // the file has the mandate's name
		return key
	}
	return cut(named(value, key), 64)
}

// checkOwnSite rejects a site key derived from the mandate's name if another
// mandate, with the same slug, has it: they would see each other's prices.
// Mandates that already share such a site keep it.
func (im *importer) checkOwnSite() error {
	if !im.ownSite {
		return nil
	}
	s := im.book.sites[im.Mapping.Columns.Site.Value]
	if s == nil || s.rows == 0 || !im.standing.OthersSites[s.Site.Site] || im.standing.ordered(s.Site.Site) {
		return nil
	}
	return fault.New(fault.Invalid, "", "the site %s, made from the mandate's name %q, belongs to another mandate, and both would see each other's prices; give columns.site.value a name of your own in the mapping", s.Site.Site, im.Mandate)
}

// ordered reports whether an order of the mandate names the site.
func (s *Standing) ordered(site contracts.SiteKey) bool {
	for _, o := range s.Orders {
		if slices.Contains(o.Sites, site) {
			return true
		}
	}
	return false
}

func named(text, mandate string) string {
	return strings.Trim(strings.ReplaceAll(text, ofMandate, mandate), " /-_")
}
