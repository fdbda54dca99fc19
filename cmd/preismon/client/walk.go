package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
)

const (
	resultsPath = "/v1/results"
	streamPath  = "/v1/results/stream"

	// firstPage comes before a stream: its cursor ties everything that follows
	// to one state of the data.
	firstPage = 100
	mostPage  = 10_000 // limitMax of the contract
)

// walk does one read of results to its end, row by row in order.
//
// A stream has no cursors, so a position in it cannot be named when it breaks.
// But the rows after a cursor are the same for pages and streams, and never
// change: they show the data as of the first page. A walk therefore keeps a
// cursor and counts the rows it has returned since. After a break it skips
// exactly that many rows by pages, whose last cursor is the exact position,
// however many rows share a capture time; a new stream continues from there.
type walk struct {
	c      *Client
	params url.Values
	stream bool // false: by pages only
	emit   func(row []byte) error
	most   int64 // rows by pages; 0: all

	cursor string // "" before the first page
	since  int    // rows returned since cursor
	last   []byte // the last of them
	rows   int64  // rows returned in total
	limit  int    // of pages; shrinks if the server cannot return as many
}

func (w *walk) run(ctx context.Context) error {
	w.limit = mostPage
	size := w.limit
	if w.stream {
		if stream := (request{path: streamPath, params: w.params}); explainingOf(ctx, stream) != nil && w.most == 0 { // explain the whole read, not its first page
			_, err := w.c.do(ctx, stream)
			return err
		}
		size = firstPage
	}
	over, err := w.nextPage(ctx, size)
	for streak := 0; !over && err == nil; {
		if !w.stream {
			over, err = w.nextPage(ctx, w.limit)
			continue
		}
		before := w.rows
		if over, err = w.streamOn(ctx); over || err == nil || !mayGoOn(ctx, err) {
			break
		}
		if streak++; w.rows > before {
			streak = 0
		}
		w.c.notice("The stream broke after row %d: %s Going on there.", w.rows, sentence(err))
		if err = w.c.cfg.Wait(ctx, Backoff(streak)); err != nil {
			break
		}
		if over, err = w.pass(ctx); err == nil && !over && streak > 0 {
			over, err = w.nextPage(ctx, w.limit) // streams make no progress
		}
	}
	return err
}

// errBroken means that a stream did not end as the contract requires.
var errBroken = errors.New("the stream ended without saying that it is complete")

// mayGoOn reports whether another try at the same position can help.
func mayGoOn(ctx context.Context, err error) bool {
	var mine *emitError
	return ctx.Err() == nil && !errors.As(err, &mine) && (codeOf(err) == "" || codeOf(err) == "RESULTS_QUERY_TIMEOUT")
}

// emitError is an error of the function that receives the rows.
type emitError struct{ error }

func (e *emitError) Unwrap() error { return e.error }

func (w *walk) give(row []byte) error {
	if err := w.emit(row); err != nil {
		return &emitError{err}
	}
	w.rows++
	return nil
}

// nextPage emits the rows of one page and moves the cursor behind it.
func (w *walk) nextPage(ctx context.Context, limit int) (over bool, err error) {
	if w.most > 0 {
		limit = int(min(int64(limit), w.most-w.rows))
	}
	page, err := w.read(ctx, limit)
	if err != nil {
		return false, err
	}
	for _, row := range page.Data {
		if err := w.give(row); err != nil {
			return false, err
		}
	}
	w.cursor = page.Paging.NextCursor
	return w.cursor == "" || w.most > 0 && w.rows == w.most, nil
}

// read reads one page; a smaller one if the server cannot return it, or if the
// transfer breaks.
func (w *walk) read(ctx context.Context, limit int) (*Page, error) {
	for streak := 0; ; streak++ {
		limit = min(limit, w.limit)
		var page Page
		resp, err := w.c.do(ctx, request{path: resultsPath, params: with(w.params, limit, w.cursor)})
		if err == nil {
			err = decode(resp, &page)
		}
		if err == nil {
			w.limit = min(w.limit*2, mostPage)
			return &page, nil
		}
		code := codeOf(err)
		refused := code == "RESPONSE_TOO_LARGE" || code == "RESULTS_QUERY_TIMEOUT" && w.cursor != ""
		broken := !errors.As(err, new(*Problem)) && ctx.Err() == nil && streak < 2*mostTries && w.c.answered // otherwise no server is there, however small the page
		if refused && limit == 1 || !refused && !broken {
			return nil, err
		}
		w.limit = max(1, limit/4)
		w.c.notice("A page of %d rows failed: %s Reading smaller ones.", limit, sentence(err))
		if err := w.c.cfg.Wait(ctx, Backoff(streak)); err != nil {
			return nil, err
		}
	}
}

// streamOn emits rows from the cursor on until the stream ends; over: it ended
// properly.
func (w *walk) streamOn(ctx context.Context) (over bool, err error) {
	resp, err := w.c.do(ctx, request{path: streamPath, params: with(w.params, 0, w.cursor)})
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // read as far as it goes
	in := bufio.NewReaderSize(resp.Body, 256<<10)
	var long []byte
	for n := 0; ; {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if len(long) > 0 {
			long = append(long, part...)
			part = long
		}
		switch {
		case errors.Is(err, io.EOF):
			if len(part) == 0 && resp.Trailer.Get("X-Results-Complete") == "true" && resp.Trailer.Get("X-Results-Returned") == strconv.Itoa(n) {
				return true, nil
			}
			return false, errBroken
		case err != nil:
			return false, err
		}
		line := bytes.TrimSuffix(part, []byte("\n"))
		if err := w.give(line); err != nil {
			return false, err
		}
		n++
		w.since++
		w.last = append(w.last[:0], line...)
		long = long[:0]
	}
}

// pass moves the cursor behind the rows that were returned since it was set;
// over: nothing follows them.
func (w *walk) pass(ctx context.Context) (over bool, err error) {
	for w.since > 0 {
		asked := min(w.since, w.limit)
		page, err := w.read(ctx, asked)
		if err != nil {
			return false, err
		}
		n := len(page.Data)
		if n > asked || n == w.since && !sameRow(page.Data[n-1], w.last) || page.Paging.NextCursor == "" && n < w.since {
			return false, fmt.Errorf("the server returned other rows after a cursor than before, so the read cannot continue after row %d", w.rows)
		}
		w.since -= n
		if w.cursor = page.Paging.NextCursor; w.cursor == "" {
			return true, nil
		}
	}
	return false, nil
}

// sameRow compares what identifies a row. Other fields, such as lastProcessedAt,
// may differ between two reads of a row.
func sameRow(a, b []byte) bool {
	type identity struct {
		ItemID, Site, CapturedAt, Availability string
		Merchant                               *string
		Price                                  *json.Number
	}
	var x, y identity
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	same := func(p, q *string) bool { return p == nil && q == nil || p != nil && q != nil && *p == *q }
	return x.ItemID == y.ItemID && x.Site == y.Site && x.CapturedAt == y.CapturedAt && x.Availability == y.Availability &&
		same(x.Merchant, y.Merchant) && same((*string)(x.Price), (*string)(y.Price))
}
