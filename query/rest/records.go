package rest

import (
	"bytes"
	"errors"

	"github.com/gin-gonic/gin"

	"preismon/query"
	"preismon/query/table"
	"preismon/query/table/objects"
	"preismon/query/wire"
)

// recordBatch is how many records of /ext/v1 form a batch of a table: no page
// has more.
const recordBatch = query.MaxResultsLimit

// records answers with records, in the form that is requested.
func (a *api) records(c *gin.Context, p query.Principal, read wire.Read, body []byte) error {
	c.Writer.Header().Add("Vary", "Accept")
	in := paramsOf(c)
	short := isHead(c) && takesLimit(read) // fewer records are read than GET returns
	if short {
		in.One(query.MaxResultsLimit)
	}
	answer, err := read(c.Request.Context(), a.service, p, in, body)
	if err != nil {
		return err
	}
	defer answer.Release()
	f := formOf(c.Request.Header.Values("Accept"), pageForms)
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

// recordTable sends only the records; what JSON has around them is in headers.
// Short: without the records, since not all were read.
func (a *api) recordTable(c *gin.Context, f *form, answer *wire.Records, short bool) error {
	echo, err := headerOf(answer.Query)
	if err != nil {
		return err
	}
	if short {
		c.Writer.Header().Set(queryHeader, echo)
		return sendHead(c, f.typed)
	}
	return a.sendRecords(c, f, answer, aroundPage(c, echo, answer.Next))
}

// sendRecords sends records in a form other than JSON, with what JSON has around
// them as headers.
func (a *api) sendRecords(c *gin.Context, f *form, answer *wire.Records, around map[string]string) error {
	out, err := a.recordsAs(c, f, answer)
	if err != nil {
		return err
	}
	return a.sendTable(c, f, out.Bytes(), answer.Returned, around)
}

// recordsAs returns the records in a form.
func (a *api) recordsAs(c *gin.Context, f *form, answer *wire.Records) (*bytes.Buffer, error) {
	joined := bytes.Join(answer.Rows, nil)
	giveBack, err := a.service.Hold(c.Request.Context(), 2*int64(len(joined))) // for these, and for the table being built
	if err != nil {
		return nil, err
	}
	defer giveBack()
	out := new(bytes.Buffer)
	var rows objects.Writer
	switch {
	case f.lines:
		rows = objects.NDJSON(out)
	case f.flat:
		rows = objects.CSV(out, query.Names(answer.Columns))
	default:
		rows = objects.Batches(f.write(out, answer.Columns, table.Unsorted), answer.Columns, recordBatch)
	}
	return out, errors.Join(rows.Write(joined), rows.Close())
}
