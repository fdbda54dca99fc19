package rest

import (
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"

	"preismon/query"
	"preismon/query/wire"
)

// What JSON has around the rows of a feed, for its tables.
const (
	changesAsOfHeader     = "X-Changes-As-Of"      // progress.asOf
	changesUpToDateHeader = "X-Changes-Up-To-Date" // progress.upToDate
)

// feedTable sends a page of a feed as a table: rows, or alerts.
func (a *api) feedTable(c *gin.Context, t *pageTable, page *query.FeedPage, alerts bool) error {
	around := aroundFeed(c, &page.Progress)
	if alerts {
		records := &wire.Records{Columns: query.RecordColumns[query.Alert](), Rows: [][]byte{page.Rows.JSON()}, Returned: page.Rows.Len()}
		return a.sendRecords(c, t.form, records, around)
	}
	if err := t.table.Close(); err != nil {
		return err
	}
	return a.sendTable(c, t.form, t.body.Bytes(), page.Rows.Len(), around)
}

// aroundFeed returns the headers of a page of a feed. If more is visible already,
// a link leads to it, as to the next page of a list.
func aroundFeed(c *gin.Context, progress *query.Progress) map[string]string {
	around := map[string]string{
		changesTokenHeader: progress.Token, changesAsOfHeader: progress.AsOf, changesUpToDateHeader: strconv.FormatBool(progress.UpToDate),
	}
	if !progress.UpToDate {
		onward := url.Values{"since": {progress.Token}} // which holds the rest of the request
		for _, name := range []string{"limit", "wait"} {
			if value := c.Query(name); value != "" {
				onward.Set(name, value)
			}
		}
		around["Link"] = nextLink(onward)
	}
	return around
}
