package rest

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"preismon/contracts/openapi"
	"preismon/query"
)

// entityTag matches one tag in If-None-Match, with or without the mark of a
// weak one, which does not matter there (RFC 9110, section 13.1.2).
var entityTag = regexp.MustCompile(`(?:^|[\s,])(?:W/)?"([^"]*)"`)

// conditionOf returns the condition of a request for a stream.
func (s *transfer) conditionOf(r *http.Request) *query.Condition {
	c := &query.Condition{Form: strings.Join([]string{openapi.Version(), s.form.typed, s.coding}, "\x00")}
	for _, field := range r.Header.Values("If-None-Match") {
		c.Any = c.Any || strings.TrimSpace(field) == "*"
		for _, tag := range entityTag.FindAllStringSubmatch(field, -1) {
			c.Tags = append(c.Tags, tag[1])
		}
	}
	return c
}

// unchanged answers a client that has the rows; not done: it does not have
// them. That is no heavy read: it reads at most whether rows have arrived.
func (a *api) unchanged(c *gin.Context, p query.Principal, s *transfer, req query.ResultsRequest) (done bool, err error) {
	if s.condition == nil {
		return false, nil
	}
	if done, err = a.service.Unchanged(c.Request.Context(), p, req); err == nil && done {
		err = s.good()
	}
	if err != nil || !done {
		return done, err
	}
	s.setTag()
	c.Writer.WriteHeader(http.StatusNotModified)
	c.Writer.WriteHeaderNow()
	return true, nil
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
