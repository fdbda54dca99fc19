package rest

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/wire"
)

// What JSON has around the rows of a page, for its other forms.
const (
	returnedHeader   = "X-Results-Returned"    // paging.returned
	nextCursorHeader = "X-Results-Next-Cursor" // paging.nextCursor; absent on the last page
	queryHeader      = "X-Results-Query"       // query, as JSON
)

// paramsOf returns the parameters of a request.
func paramsOf(c *gin.Context) *wire.Params {
	in := wire.FromQuery(c.Request.URL.RawQuery)
	if orderID, ok := c.Params.Get("orderId"); ok {
		in.InOrder(orderID)
	}
	if itemID, ok := c.Params.Get("itemId"); ok {
		in.OfItem(itemID)
	}
	return in
}

// answers serves an operation as one JSON answer.
func (a *api) answers(op wire.Operation) gin.HandlerFunc {
	list := takesLimit(op)
	return a.handle(a.reads(func(c *gin.Context, p query.Principal) error {
		in := paramsOf(c)
		brief := list && isHead(c)
		if brief {
			in.One(query.MaxLimit)
		}
		answer, err := op(c.Request.Context(), a.service, p, in)
		if err != nil {
			return err
		}
		if brief {
			return sendHead(c, "application/json")
		}
		body, err := wire.Marshal(answer)
		if err != nil {
			return err
		}
		giveBack, err := a.service.Hold(c.Request.Context(), int64(len(body)))
		if err != nil {
			return err
		}
		defer giveBack()
		return a.writeBody(c, body)
	}))
}

func (a *api) results(c *gin.Context, p query.Principal) error {
	c.Writer.Header().Add("Vary", "Accept")
	in := paramsOf(c)
	if isHead(c) {
		in.One(query.MaxResultsLimit)
	}
	req, err := wire.DecodeResults(in)
	if err != nil {
		return err
	}
	rows := &pageTable{form: formOf(c.Request.Header.Values("Accept"), pageForms), sorted: table.SortingOf(req.Sort != "asc")}
	if req.Lines = rows.form.lines; rows.form.write != nil {
		req.Table = rows
	}
	page, err := a.service.Results(c.Request.Context(), p, req)
	if err != nil {
		a.offer(c, p, req, err)
		return err
	}
	defer page.Rows.Release()
	if rows.form != &jsonForm {
		return a.tablePage(c, rows, page)
	}
	if isHead(c) {
		return sendHead(c, "application/json")
	}
	body, err := wire.ResultsBody(page)
	if err != nil {
		return err
	}
	return a.writeBody(c, body...)
}

// pageTable is a page in a form other than JSON.
type pageTable struct {
	form   *form
	sorted table.Sorting
	body   bytes.Buffer
	table  table.Writer
}

// Begin implements query.RowTable.
func (t *pageTable) Begin(columns []frame.Column) {
	t.body.Reset()
	t.table = t.form.write(&t.body, t.form.columns(columns), t.sorted)
}

// Flat implements query.RowTable.
func (t *pageTable) Flat() bool { return t.form.flat }

// Len implements query.RowTable.
func (t *pageTable) Len() int { return t.body.Len() }

// Bytes implements query.RowTable.
func (t *pageTable) Bytes() int64 { return int64(t.body.Cap()) }

// Write implements query.RowTable.
func (t *pageTable) Write(rows *frame.Batch) error { return t.table.Write(rows) }

// end returns the whole page.
func (t *pageTable) end(page *query.ResultsPage) ([]byte, error) {
	if !t.form.lines {
		err := t.table.Close()
		return t.body.Bytes(), err
	}
	if t.body.Write(page.Rows.JSON()); page.Rows.Len() > 0 {
		t.body.WriteByte('\n')
	}
	return t.body.Bytes(), nil
}

// tablePage sends the rows of a page in a form other than JSON. What JSON has
// around them is in headers.
func (a *api) tablePage(c *gin.Context, t *pageTable, page *query.ResultsPage) error {
	echo, err := headerOf(page.Query)
	if err != nil {
		return err
	}
	if isHead(c) {
		c.Writer.Header().Set(queryHeader, echo)
		return sendHead(c, t.form.typed)
	}
	body, err := t.end(page)
	if err != nil {
		return err
	}
	return a.sendTable(c, t.form, body, page.Paging.Returned, aroundPage(c, echo, page.Paging.NextCursor))
}

// aroundPage returns the headers of a page, for its query and the next page.
func aroundPage(c *gin.Context, echo, next string) map[string]string {
	around := map[string]string{queryHeader: echo}
	if next != "" {
		onward := c.Request.URL.Query()
		onward.Set("cursor", next)
		around[nextCursorHeader], around["Link"] = next, nextLink(onward)
	}
	return around
}

// nextLink is the link to the answer that follows: the same path with other
// parameters.
func nextLink(onward url.Values) string { return "<?" + onward.Encode() + `>; rel="next"` }

// sendTable sends records in a form other than JSON, with what JSON has around
// them as headers. The length reveals a broken transfer.
func (a *api) sendTable(c *gin.Context, f *form, body []byte, returned int, around map[string]string) error {
	if err := errors.Join(a.fits(c, len(body)), exchangeOf(c.Request).hold.Err()); err != nil {
		return err
	}
	giveBack, err := a.service.Hold(c.Request.Context(), int64(cap(body)))
	if err != nil {
		return err
	}
	defer giveBack()
	h := c.Writer.Header()
	h.Set(returnedHeader, strconv.Itoa(returned))
	for name, value := range around {
		h.Set(name, value)
	}
	if f.dense {
		h.Set(gzhttp.HeaderNoCompression, "true")
	}
	send(c, f.typed, body)
	return nil
}
