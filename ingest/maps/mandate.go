package maps

import (
	"strconv"
	"strings"
)

// ofMandate stands in source and columns.site.value for the mandate that a file
// is imported for. A guess writes it, so that two customers who import files of
// the same name share neither products nor a site.
const ofMandate = "{mandate}"

// For is the mapping for a mandate, whose name takes the place of {mandate}.
// Where no mandate is known yet, nothing does.
func (m *Mapping) For(mandate string) *Mapping {
	if !strings.Contains(m.Source+m.Columns.Site.Value, ofMandate) {
		return m
	}
	own := *m
	own.Source = named(m.Source, mandate)
	own.Columns.Site.Value = m.siteFor(mandate)
	return &own
}

// siteFor is columns.site.value for a mandate, fit to be a key: a slug has no
// underscore, so what is joined by one cannot be taken for another pair.
func (m *Mapping) siteFor(mandate string) string {
	value := m.Columns.Site.Value
	if !strings.Contains(value, ofMandate) {
		return value
	}
	key := slug(mandate)
	if key == "" && mandate != "" {
		key = "mandate-" + strconv.FormatInt(int64(MandateID(mandate)), 10)
	}
	if value == ofMandate+"_"+key { // the file is named like the mandate
		return key
	}
	return cut(named(value, key), 64)
}

func named(text, mandate string) string {
	return strings.Trim(strings.ReplaceAll(text, ofMandate, mandate), " /-_")
}
