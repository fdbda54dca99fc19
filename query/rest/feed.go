package rest

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/table"
	"preismon/query/wire"
)

const (
	feedPath           = extendedBase + "/changes"
	alertsPath         = extendedBase + "/alerts"
	changesTokenHeader = "X-Changes-Token" // of a stream, a trailer

	// tailLimit is how many rows of a tail are read at a time: as many as
	// identical tails share.
	tailLimit = 1_000
	// A tail is charged about what its last rows took, within these bounds: if a
	// thousand tails were charged what they may read, they would wait for each
	// other.
	tailLeast = 16 << 10
	tailMost  = tailLimit * 1_000
	// feedPause is how long a waiting request waits until it tries again what the
	// node could not do.
	feedPause = 250 * time.Millisecond
	// tailMargin is how long before its access token a tail ends, so that its
	// last line is still sent.
	tailMargin = time.Second
)

// Reasons for the end of a tail, in its last line.
const (
	endStops       = "NODE_STOPS"
	endTime        = "TIME"
	endToken       = "ACCESS_TOKEN_EXPIRES"
	endUnavailable = "UNAVAILABLE" // for longer than Patience

	// endBroken is reported for a tail that has no last line.
	endBroken = "broken"
)

// TailEnds returns all reasons for the end of a tail as they are reported: those
// of its last line, and broken.
func TailEnds() []string {
	return []string{
		endStops, endTime, endToken, endUnavailable, query.CodeFeedScopeChanged, query.CodeFeedHistoryRebuilt, query.CodeFeedTokenExpired, endBroken,
	}
}

// tailTimes are the times of tails, which tests shorten.
type tailTimes struct {
	// progress is how often a tail without rows reports its progress while the
	// tables move; heartbeat is how often while they do not.
	progress, heartbeat time.Duration
	// life is about how long a tail lasts: tails that began together do not end
	// together.
	life time.Duration
}

var usualTailTimes = tailTimes{progress: time.Second, heartbeat: 15 * time.Second, life: 30 * time.Minute}

// follows reports whether a request is for a tail.
func follows(r *http.Request) bool {
	return (r.URL.Path == feedPath || r.URL.Path == alertsPath) && r.URL.Query().Get("follow") == "true"
}

// feed answers with what became visible, or with the alerts that fire on it: of
// at most so many rows.
func (a *api) feed(decode func(*wire.Params) (wire.Feed, error), most int) reader {
	return func(c *gin.Context, p query.Principal) error {
		in := paramsOf(c)
		if isHead(c) && !follows(c.Request) {
			in.One(most)
		}
		return a.fed(c, p, in, decode)
	}
}

func (a *api) fed(c *gin.Context, p query.Principal, in *wire.Params, decode func(*wire.Params) (wire.Feed, error)) error {
	c.Writer.Header().Add("Vary", "Accept")
	ask, err := decode(in)
	if err != nil {
		return err
	}
	if ask.Follow && !isHead(c) {
		return a.tail(c, p, ask.FeedRequest)
	}
	f := formOf(c.Request.Header.Values("Accept"), pageForms)
	rows := &pageTable{form: f, sorted: table.Unsorted}
	if ask.Lines = f.lines; f.write != nil && !ask.Alerts {
		ask.Table = rows
	}
	page, err := a.feedWithin(c, p, ask)
	if err != nil {
		return err
	}
	defer page.Rows.Release()
	if isHead(c) {
		return sendHead(c, f.typed)
	}
	switch {
	case f.write != nil:
		return a.feedTable(c, rows, page, ask.Alerts)
	case !f.lines:
		body, err := wire.FeedBody(page)
		if err != nil {
			return err
		}
		return a.writeBody(c, body...)
	}
	body, err := wire.FeedLines(page, &wire.Control{Control: wire.ControlProgress, Progress: &page.Progress})
	if err := errors.Join(err, a.fits(c, len(body)), exchangeOf(c.Request).hold.Err()); err != nil {
		return err
	}
	send(c, f.typed, body)
	return nil
}

// feedPage reads a page as one of the heavy reads of its account.
func (a *api) feedPage(c *gin.Context, p query.Principal, r query.FeedRequest) (page *query.FeedPage, err error) {
	err = a.heavy(func(c *gin.Context, p query.Principal) (err error) {
		page, err = a.service.Feed(c.Request.Context(), p, r)
		return err
	})(c, p)
	return page, err
}

// feedWithin reads a page, and waits for its first row if that is requested.
func (a *api) feedWithin(c *gin.Context, p query.Principal, ask wire.Feed) (*query.FeedPage, error) {
	until := time.Now().Add(ask.Wait)
	for first := true; ; first = false {
		page, err := a.feedPage(c, p, ask.FeedRequest)
		if !first && passes(err) && time.Now().Add(feedPause).Before(until) && a.stopping.Err() == nil { // it was accepted, and only waits
			select {
			case <-time.After(feedPause):
				continue
			case <-a.stopping.Done():
			case <-c.Request.Context().Done():
			}
		}
		if err != nil || isHead(c) || page.Rows.Len() > 0 || !page.Progress.UpToDate || !time.Now().Before(until) || a.stopping.Err() != nil {
			return page, err
		}
		page.Rows.Release()
		ask.FeedRequest = ask.After(page)
		if ask.UpTo, err = a.await(c.Request.Context(), page, time.Until(until)); err != nil {
			return nil, err
		}
	}
}

// await waits until there may be more than on a page, for at most the given
// time, or until this node stops, and returns the edge if the tables moved. It
// fails only with the cause of the end of ctx.
func (a *api) await(ctx context.Context, page *query.FeedPage, most time.Duration) (*query.EdgeAt, error) {
	if page.PollAfter == 0 {
		return a.service.Await(ctx, page.Seen, query.Wait{Most: most, Over: a.stopping.Done()})
	}
	select {
	case <-time.After(min(most, page.PollAfter)):
	case <-a.stopping.Done():
	case <-ctx.Done():
	}
	return nil, context.Cause(ctx)
}

// tail is a feed that continues.
type tail struct {
	api     *api
	c       *gin.Context
	p       query.Principal
	ask     query.FeedRequest
	said    time.Time // when the last progress was sent
	failing time.Time // since when no page could be read; zero: the last one could
	learned time.Time // when the node learned of the rows that are read; zero: they were visible before
	why     string    // it ends
}

// tail sends rows as they become visible. It ends with a line that says how to
// continue, or is broken off like a stream.
func (a *api) tail(c *gin.Context, p query.Principal, r query.FeedRequest) error {
	if !c.Request.ProtoAtLeast(1, 1) {
		return badRequest("A tail needs HTTP/1.1 or later, also between proxies. Ask with wait.")
	}
	leave, err := a.service.Tail(p)
	if err != nil {
		return err
	}
	defer leave()
	limit := tailLimit
	r.Limit, r.Lines, r.AnswerBytes = &limit, true, tailLeast
	page, err := a.feedPage(c, p, r)
	if err != nil {
		return err
	}
	h := c.Writer.Header()
	h.Set("Content-Type", ndjsonForm.typed)
	h.Set("X-Accel-Buffering", "no")
	c.Writer.WriteHeader(http.StatusOK)
	t := &tail{api: a, c: c, p: p, ask: r, why: endBroken}
	err = t.run(page)
	a.ended(t.why)
	if err != nil {
		if c.Request.Context().Err() == nil && !errors.Is(err, errSlow) {
			a.logFailure(c.Request, slog.LevelWarn, err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// run sends a page and all pages after it.
func (t *tail) run(page *query.FeedPage) error {
	ctx := t.c.Request.Context()
	over := t.over()
	for {
		if err := t.give(page); err != nil {
			return err
		}
		if reason := over.reason(t.api.stopping); reason != "" {
			return t.end(page, reason)
		}
		if page.Progress.UpToDate {
			edge, err := t.api.await(ctx, page, min(t.api.tails.heartbeat, time.Until(over.at)))
			if err != nil {
				return err
			}
			t.ask.UpTo, t.learned = edge, time.Time{}
			if edge != nil {
				t.learned = edge.QueriedAt
			}
			if t.api.stopping.Err() != nil {
				continue // with nothing new to send
			}
		}
		next, err := t.next(ctx, over)
		if gone, ok := errors.AsType[*fault.Error](err); ok && gone.Kind == fault.Gone {
			return t.endWith(&wire.Control{Control: wire.ControlReset, Reason: gone.Code, Detail: gone.Msg})
		}
		switch {
		case err == nil:
			page = next
		case !passes(err) || ctx.Err() != nil:
			return err
		default:
			reason := over.reason(t.api.stopping)
			if reason == "" {
				t.api.logFailure(t.c.Request, slog.LevelWarn, err)
				reason = endUnavailable
			}
			return t.end(page, reason)
		}
	}
}

// end sends the last line: all rows up to a page were sent, and why the tail
// ends.
func (t *tail) end(page *query.FeedPage, reason string) error {
	return t.endWith(&wire.Control{Control: wire.ControlEnd, Progress: &page.Progress, Reason: reason})
}

// tailEnd is when a tail must end, and why.
type tailEnd struct {
	at  time.Time
	why string
}

// over returns the end of the tail: when its time is up, or its access token is
// about to expire.
func (t *tail) over() tailEnd {
	life := t.api.tails.life*4/5 + rand.N(t.api.tails.life*2/5)
	if left := exchangeOf(t.c.Request).hold.Left() - tailMargin; left < life {
		return tailEnd{time.Now().Add(left), endToken}
	}
	return tailEnd{time.Now().Add(life), endTime}
}

// reason returns why the tail is over; empty: it is not.
func (e tailEnd) reason(stopping context.Context) string {
	switch {
	case stopping.Err() != nil:
		return endStops
	case !time.Now().Before(e.at):
		return e.why
	}
	return ""
}

// passes reports whether a failed read may be tried again a little later.
func passes(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Unavailable || kind == fault.RateLimited || kind == fault.Timeout
}

// next reads the next page, and keeps trying for a while if the node cannot.
// The number of tails of an account is bounded, so their reads need not take
// any of its heavy slots, which would have to be coordinated with the other
// nodes each time.
func (t *tail) next(ctx context.Context, over tailEnd) (*query.FeedPage, error) {
	for {
		page, err := t.api.service.Feed(ctx, t.p, t.ask)
		if err == nil || !passes(err) {
			t.failing = time.Time{}
			return page, err
		}
		if t.failing.IsZero() {
			t.failing = time.Now()
		}
		if time.Since(t.failing) > t.api.cfg.Patience || over.reason(t.api.stopping) != "" {
			return nil, err
		}
		select {
		case <-time.After(t.api.tails.progress):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// give sends the rows of a page, with the progress if there are any rows or it
// was not sent recently, and releases the page.
func (t *tail) give(page *query.FeedPage) error {
	defer page.Rows.Release()
	t.ask = t.ask.After(page)
	t.ask.AnswerBytes = min(max(tailLeast, 2*len(page.Rows.JSON())), tailMost)
	var said *wire.Control
	if page.Rows.Len() > 0 || time.Since(t.said) >= t.api.tails.progress {
		said = &wire.Control{Control: wire.ControlProgress, Progress: &page.Progress}
		t.said = time.Now()
	}
	text, err := wire.FeedLines(page, said)
	if err != nil {
		return err
	}
	if err := t.send(text); err != nil {
		return err
	}
	if page.Rows.Len() > 0 && !t.learned.IsZero() {
		t.api.followed(time.Since(t.learned))
	}
	return nil
}

// endWith sends the last line.
func (t *tail) endWith(said *wire.Control) error {
	line, err := said.Line()
	if err == nil {
		err = t.send(line)
	}
	if err == nil {
		t.why = said.Reason
	}
	return err
}

func (t *tail) send(text []byte) error {
	x := exchangeOf(t.c.Request)
	if err := x.hold.Err(); err != nil || len(text) == 0 {
		return err
	}
	if _, err := t.c.Writer.Write(text); err != nil {
		return err
	}
	return x.FlushError()
}
