package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// walk does one read of results to its end, all rows in order.
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
	form   form
	passed func(rows int) // nil: nobody counts them
	most   int64          // rows by pages; 0: all

	cursor string // "" before the first page
	since  int    // rows returned since cursor
	last   []byte // what identifies the last of them
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
	return ctx.Err() == nil && !errors.As(err, new(*OutputError)) && !errors.As(err, new(*formError)) && (codeOf(err) == "" || codeOf(err) == "RESULTS_QUERY_TIMEOUT")
}

// count counts rows that were handed on.
func (w *walk) count(rows int) {
	w.rows += int64(rows)
	if w.passed != nil {
		w.passed(rows)
	}
}

// nextPage hands on the rows of one page and moves the cursor behind it.
func (w *walk) nextPage(ctx context.Context, limit int) (over bool, err error) {
	if w.most > 0 {
		limit = int(min(int64(limit), w.most-w.rows))
	}
	page, err := w.read(ctx, limit)
	if err != nil {
		return false, err
	}
	if err := page.whole(false, func(rows int, _ []byte) { w.count(rows) }); err != nil {
		return false, err
	}
	w.cursor = page.next
	return w.cursor == "" || w.most > 0 && w.rows == w.most, nil
}

// read reads one page; a smaller one if the server cannot return it, or if the
// transfer breaks.
func (w *walk) read(ctx context.Context, limit int) (*page, error) {
	for streak := 0; ; streak++ {
		limit = min(limit, w.limit)
		resp, err := w.request(ctx, resultsPath, limit)
		if err == nil {
			var p *page
			if p, err = w.form.page(resp); err == nil {
				w.limit = min(w.limit*2, mostPage)
				return p, nil
			}
		}
		code := codeOf(err)
		refused := code == "RESPONSE_TOO_LARGE" || code == "RESULTS_QUERY_TIMEOUT" && w.cursor != ""
		broken := !errors.As(err, new(*Problem)) && !errors.As(err, new(*formError)) && ctx.Err() == nil && streak < 2*mostTries && w.c.answered // otherwise no server is there, however small the page
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

// request requests the rows after the cursor, in the walk's form.
func (w *walk) request(ctx context.Context, path string, limit int) (*http.Response, error) {
	r, form := request{path: path, params: with(w.params, limit, w.cursor), header: http.Header{}}, w.form.Accept()
	if form != "" {
		r.header.Set("Accept", form)
	}
	if w.c.Local() {
		r.header.Set("Accept-Encoding", "identity")
	}
	resp, err := w.c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	return resp, checkForm(resp, form)
}

// streamOn hands on rows from the cursor on until the stream ends; over: it
// ended properly.
func (w *walk) streamOn(ctx context.Context) (over bool, err error) {
	resp, err := w.request(ctx, streamPath, 0)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // read as far as it goes
	n := 0
	err = w.form.Read(resp.Body, false, func(rows int, last []byte) {
		w.count(rows)
		n += rows
		w.since += rows
		w.last = append(w.last[:0], last...)
	})
	if err != nil {
		return false, err
	}
	more, err := io.Copy(io.Discard, resp.Body) // the trailers follow its end
	if err != nil {
		return false, err
	}
	if more == 0 && resp.Trailer.Get("X-Results-Complete") == "true" && resp.Trailer.Get("X-Results-Returned") == strconv.Itoa(n) {
		return true, nil
	}
	return false, errBroken
}

// pass moves the cursor behind the rows that were returned since it was set;
// over: nothing follows them.
func (w *walk) pass(ctx context.Context) (over bool, err error) {
	for w.since > 0 {
		limit := min(w.since, w.limit)
		page, err := w.read(ctx, limit)
		if err != nil {
			return false, err
		}
		n, last := 0, []byte(nil)
		if err := page.whole(true, func(rows int, of []byte) { n, last = n+rows, append(last[:0], of...) }); err != nil {
			return false, err
		}
		if n > limit || n == w.since && !w.form.same(last, w.last) || page.next == "" && n < w.since {
			return false, fmt.Errorf("the server returned other rows after a cursor than before, so the read cannot continue after row %d", w.rows)
		}
		w.since -= n
		if w.cursor = page.next; w.cursor == "" {
			return true, nil
		}
	}
	return false, nil
}
