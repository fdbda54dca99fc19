package rest

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"preismon/query"
	"preismon/query/wire"
)

// What JSON has around the rows of a page, for the other forms of one.
const (
	returnedHeader   = "X-Results-Returned"    // paging.returned
	nextCursorHeader = "X-Results-Next-Cursor" // paging.nextCursor; absent on the last page
	queryHeader      = "X-Results-Query"       // query, as JSON
)

// paramsOf takes the parameters of a request.
func paramsOf(c *gin.Context) *wire.Params {
	in := wire.FromQuery(c.Request.URL.RawQuery)
	if orderID, ok := c.Params.Get("orderId"); ok {
		in.InOrder(orderID)
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
		return a.writeJSON(c, answer)
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
	page, err := a.service.Results(c.Request.Context(), p, req)
	if err != nil {
		return err
	}
	defer page.Rows.Release()
	if f := formOf(c.Request.Header.Values("Accept"), pageForms); f.write != nil {
		return a.tablePage(c, f, req.Include, page)
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

// tablePage sends the rows of a page in another form than JSON. What JSON has
// around them is in headers; the length shows a transfer that breaks.
func (a *api) tablePage(c *gin.Context, f *form, include query.Include, page *query.ResultsPage) error {
	echo, err := wire.Marshal(page.Query)
	if err != nil {
		return err
	}
	h := c.Writer.Header()
	if isHead(c) {
		h.Set(queryHeader, string(echo))
		return sendHead(c, f.typed)
	}
	var body bytes.Buffer
	rows := f.write(&body, include.Fields())
	if err := errors.Join(rows.Write(page.Rows.JSON()), rows.Close()); err != nil {
		return err
	}
	if err := errors.Join(a.fits(body.Len()), exchangeOf(c.Request).hold.Err()); err != nil {
		return err
	}
	h.Set(returnedHeader, strconv.Itoa(page.Paging.Returned))
	h.Set(queryHeader, string(echo))
	if next := page.Paging.NextCursor; next != "" {
		onward := c.Request.URL.Query()
		onward.Set("cursor", next)
		h.Set(nextCursorHeader, next)
		h.Set("Link", "<?"+onward.Encode()+`>; rel="next"`)
	}
	if f.dense {
		h.Set(gzhttp.HeaderNoCompression, "true")
	}
	send(c, f.typed, body.Bytes())
	return nil
}
