package rest

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"preismon/query"
	"preismon/query/wire"
)

// itemHistory answers with the summary of a product and its rows: a stream whose
// first line is the summary.
func (a *api) itemHistory(c *gin.Context, p query.Principal) error {
	req, _, err := wire.DecodeItemSummary(paramsOf(c))
	if err != nil {
		return err
	}
	s, err := a.newTransfer(c, []*form{&ndjsonForm})
	if err != nil {
		return err
	}
	req.ChangesToken = s.changes
	history, err := a.service.ItemHistory(c.Request.Context(), p, req)
	if err != nil {
		return err
	}
	if isHead(c) {
		return sendHead(c, ndjsonForm.typed)
	}
	if history.ItemSummary != nil {
		if s.first, err = wire.ItemSummaryLine(history.ItemSummary); err != nil {
			return err
		}
	}
	return a.sendStream(c, s, func(to query.ResultsStream) error { return history.Stream(c.Request.Context(), to) })
}

// hasRows reports whether a request is for the summary of a product with its
// rows.
func hasRows(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, summaryPath) && r.URL.Query().Get("includeRows") == "true"
}
