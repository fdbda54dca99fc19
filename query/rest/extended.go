package rest

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/gin-gonic/gin"

	"preismon/query"
	"preismon/query/table/objects"
	"preismon/query/wire"
)

// The surface /ext/v1: what is asked for more than rows. It has a document of
// its own, and the token, the scope, the limits, the errors and the admission
// of /v1.
const (
	extendedBase = "/ext/v1"
	lookupPath   = extendedBase + "/lookup"
)

// recordForms are the forms of its answers.
var recordForms = []*form{&jsonForm, &ndjsonForm, &csvForm}

// extend adds its routes.
func (a *api) extend(e *gin.Engine) {
	for path, read := range map[string]wire.Read{"/statistics": wire.Statistics, "/position": wire.Positions, "/movers": wire.Movers, "/windows": wire.Windows, "/evidence": wire.Evidence, "/sites/status": wire.SiteStatus, "/overview": wire.Overview} {
		get(e, extendedBase+path, a.handle(a.reads(a.heavy(func(c *gin.Context, p query.Principal) error { return a.records(c, p, read, nil) }))))
	}
	get(e, feedPath, a.handle(a.reads(a.feed(wire.DecodeFeed))))
	get(e, alertsPath, a.handle(a.reads(a.feed(wire.DecodeAlerts))))
	get(e, explainPath, a.handle(a.explain(e)))
	e.POST(lookupPath, a.handle(a.readsBody(wire.MaxLookupBytes, func(c *gin.Context, p query.Principal, body []byte) error {
		return a.heavy(func(c *gin.Context, p query.Principal) error {
			if err := isJSON(c, body); err != nil {
				return err
			}
			return a.records(c, p, wire.Lookup, body)
		})(c, p)
	})))
}

// records answers with records, in the form that is asked for.
func (a *api) records(c *gin.Context, p query.Principal, read wire.Read, body []byte) error {
	c.Writer.Header().Add("Vary", "Accept")
	in := paramsOf(c)
	short := isHead(c) && takesLimit(read) // fewer records are read than GET answers with
	if short {
		in.One(query.MaxResultsLimit)
	}
	answer, err := read(c.Request.Context(), a.service, p, in, body)
	if err != nil {
		return err
	}
	defer answer.Release()
	f := formOf(c.Request.Header.Values("Accept"), recordForms)
	if f != &jsonForm {
		return a.recordTable(c, f, answer, short)
	}
	if short {
		return sendHead(c, f.typed)
	}
	pieces, err := answer.Body()
	if err != nil {
		return err
	}
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	giveBack, err := a.service.Hold(c.Request.Context(), int64(size))
	if err != nil {
		return err
	}
	defer giveBack()
	return a.writeBody(c, pieces...)
}

// recordTable sends the records alone; what JSON has around them is in headers.
// Short: without the records, of which not all were read.
func (a *api) recordTable(c *gin.Context, f *form, answer *wire.Records, short bool) error {
	echo, err := wire.Marshal(answer.Query)
	if err != nil {
		return err
	}
	h := c.Writer.Header()
	h.Set(queryHeader, string(echo))
	if short {
		return sendHead(c, f.typed)
	}
	var out bytes.Buffer
	rows := objects.NDJSON(&out)
	if !f.lines {
		rows = objects.CSV(&out, answer.Fields)
	}
	if err := errors.Join(rows.Write(bytes.Join(answer.Rows, nil)), rows.Close()); err != nil {
		return err
	}
	if err := errors.Join(a.fits(c, out.Len()), exchangeOf(c.Request).hold.Err()); err != nil {
		return err
	}
	giveBack, err := a.service.Hold(c.Request.Context(), int64(out.Len()))
	if err != nil {
		return err
	}
	defer giveBack()
	h.Set(returnedHeader, strconv.Itoa(answer.Returned))
	if answer.Next != "" {
		onward := c.Request.URL.Query()
		onward.Set("cursor", answer.Next)
		h.Set(nextCursorHeader, answer.Next)
		h.Set("Link", "<?"+onward.Encode()+`>; rel="next"`)
	}
	send(c, f.typed, out.Bytes())
	return nil
}
