package rest

import (
	"net/http"
	"regexp"
	"strings"

	"preismon/contracts/openapi"
	"preismon/query"
)

// entityTag matches one tag in If-None-Match, with or without the mark of a
// weak one, which does not matter there (RFC 9110, section 13.1.2).
var entityTag = regexp.MustCompile(`(?:^|[\s,])(?:W/)?"([^"]*)"`)

// conditionOf returns the condition of a request for a stream.
func (s *transfer) conditionOf(r *http.Request) *query.Condition {
	c := &query.Condition{Form: strings.Join([]string{openapi.Version, s.form.typed, s.coding}, "\x00")}
	for _, field := range r.Header.Values("If-None-Match") {
		c.Any = c.Any || strings.TrimSpace(field) == "*"
		for _, tag := range entityTag.FindAllStringSubmatch(field, -1) {
			c.Tags = append(c.Tags, tag[1])
		}
	}
	return c
}

// setTag sets the tag of the rows, if they have one. It is weak where the same
// rows may be other bytes another time, because they are compressed, or in
// batches, as they come.
func (s *transfer) setTag() {
	if s.condition == nil || s.condition.Tag == "" {
		return
	}
	tag := `"` + s.condition.Tag + `"`
	if s.coding != "" || !s.form.steady {
		tag = "W/" + tag
	}
	s.w.Header().Set("ETag", tag)
}

// unchanged answers that the client has the rows.
func (s *transfer) unchanged() error {
	if err := s.good(); err != nil {
		return err
	}
	s.setTag()
	s.w.WriteHeader(http.StatusNotModified)
	s.w.WriteHeaderNow()
	return nil
}
