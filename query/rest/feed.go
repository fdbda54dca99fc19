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
	"preismon/query/wire"
)

const (
	feedPath           = extendedBase + "/changes"
	alertsPath         = extendedBase + "/alerts"
	changesTokenHeader = "X-Changes-Token" // of a stream, a trailer

	// tailLimit is how many rows of a tail are read at once: as many as equal
	// tails share.
	tailLimit = 1_000
	// A tail is charged what its rows took last, about, in these bounds: a thousand
	// tails that were charged what they may read would wait for each other.
	tailLeast = 16 << 10
	tailMost  = tailLimit * 1_000
	// progressEvery is how often a tail without rows says how far it is while the
	// tables move, heartbeat while they do not.
	progressEvery = time.Second
	heartbeat     = 15 * time.Second
	// tailLife is how long a tail lasts, about: tails that began together do not
	// end together.
	tailLife = 30 * time.Minute
	// tailMargin is how long before its access token a tail ends, so that its last
	// line gets out.
	tailMargin = time.Second
)

// Why a tail ended: by its last line.
const (
	endStops       = "NODE_STOPS"
	endTime        = "TIME"
	endToken       = "ACCESS_TOKEN_EXPIRES"
	endUnavailable = "UNAVAILABLE" // for longer than Patience
)

var feedForms = []*form{&jsonForm, &ndjsonForm}

// follows tells whether a request is for a tail.
func follows(r *http.Request) bool {
	return (r.URL.Path == feedPath || r.URL.Path == alertsPath) && r.URL.Query().Get("follow") == "true"
}

// feed answers with what became visible, or with what fires at it.
func (a *api) feed(decode func(*wire.Params) (wire.Feed, error)) reader {
	return func(c *gin.Context, p query.Principal) error { return a.fed(c, p, decode) }
}

func (a *api) fed(c *gin.Context, p query.Principal, decode func(*wire.Params) (wire.Feed, error)) error {
	c.Writer.Header().Add("Vary", "Accept")
	ask, err := decode(paramsOf(c))
	if err != nil {
		return err
	}
	if ask.Follow && !isHead(c) {
		return a.tail(c, p, ask.FeedRequest)
	}
	f := formOf(c.Request.Header.Values("Accept"), feedForms)
	ask.Lines = f.lines
	page, err := a.feedWithin(c, p, ask)
	if err != nil {
		return err
	}
	defer page.Rows.Release()
	if isHead(c) {
		return sendHead(c, f.typed)
	}
	if !f.lines {
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

// feedWithin reads a page, and waits for its first row where that is asked for.
func (a *api) feedWithin(c *gin.Context, p query.Principal, ask wire.Feed) (*query.FeedPage, error) {
	until := time.Now().Add(ask.Wait)
	for {
		page, err := a.feedPage(c, p, ask.FeedRequest)
		if err != nil || isHead(c) || page.Rows.Len() > 0 || !page.Progress.UpToDate || !time.Now().Before(until) || a.stopping.Err() != nil {
			return page, err
		}
		page.Rows.Release()
		ask.FeedRequest = ask.After(page)
		if ask.UpTo, err = a.await(c.Request.Context(), page.Seen, time.Until(until)); err != nil {
			return nil, err
		}
	}
}

// await waits until there may be more than was seen, for so long at most, and
// not when this node stops, and gives the edge where there is one. It fails only
// with the cause of the end of ctx.
func (a *api) await(ctx context.Context, seen query.Edge, most time.Duration) (*query.EdgeAt, error) {
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	defer context.AfterFunc(a.stopping, cancel)()
	edge, err := a.service.Await(wait, seen)
	if err != nil { // what ended, the contexts say
		return nil, context.Cause(ctx)
	}
	return &edge, context.Cause(ctx)
}

// tail is a feed that goes on.
type tail struct {
	api     *api
	c       *gin.Context
	p       query.Principal
	ask     query.FeedRequest
	said    time.Time // when the last progress was
	failing time.Time // since when no page could be read; zero: the last one was
}

// tail sends rows as they become visible. It ends with a line that says how to
// go on, or is broken off as a stream is.
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
	t := &tail{api: a, c: c, p: p, ask: r}
	if err := t.run(page); err != nil {
		if c.Request.Context().Err() == nil && !errors.Is(err, errSlow) {
			a.logFailure(c.Request, slog.LevelWarn, err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// run sends a page and all that come after it.
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
			edge, err := t.api.await(ctx, page.Seen, min(heartbeat, time.Until(over.at)))
			if err != nil {
				return err
			}
			t.ask.UpTo = edge
			if t.api.stopping.Err() != nil {
				continue // with nothing new to give
			}
		}
		next, err := t.next(ctx, over)
		if gone, ok := errors.AsType[*fault.Error](err); ok && gone.Kind == fault.Gone {
			return t.say(&wire.Control{Control: wire.ControlReset, Reason: gone.Code, Detail: gone.Msg})
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

// end says that all up to a page was given, and why no more is.
func (t *tail) end(page *query.FeedPage, reason string) error {
	return t.say(&wire.Control{Control: wire.ControlEnd, Progress: &page.Progress, Reason: reason})
}

// tailEnd is when a tail is over at the latest, and why.
type tailEnd struct {
	at  time.Time
	why string
}

// over is when its time is up, or its access token about to end.
func (t *tail) over() tailEnd {
	life := tailLife*4/5 + rand.N(tailLife*2/5)
	if left := exchangeOf(t.c.Request).hold.Left() - tailMargin; left < life {
		return tailEnd{time.Now().Add(left), endToken}
	}
	return tailEnd{time.Now().Add(life), endTime}
}

// reason tells why the tail is over; empty: it is not.
func (e tailEnd) reason(stopping context.Context) string {
	switch {
	case stopping.Err() != nil:
		return endStops
	case !time.Now().Before(e.at):
		return e.why
	}
	return ""
}

// passes tells whether a read that failed may be made a little later.
func passes(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Unavailable || kind == fault.RateLimited || kind == fault.Timeout
}

// next reads the next page, and tries for a while where the node cannot. How many
// tails an account may have is bounded, so that their reads take none of its heavy
// places, of which the other nodes would have to know each time.
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
		case <-time.After(progressEvery):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// give sends the rows of a page, and how far it is where there are any or it was
// not said lately, and gives its room back.
func (t *tail) give(page *query.FeedPage) error {
	defer page.Rows.Release()
	t.ask = t.ask.After(page)
	t.ask.AnswerBytes = min(max(tailLeast, 2*len(page.Rows.JSON())), tailMost)
	var said *wire.Control
	if page.Rows.Len() > 0 || time.Since(t.said) >= progressEvery {
		said = &wire.Control{Control: wire.ControlProgress, Progress: &page.Progress}
		t.said = time.Now()
	}
	text, err := wire.FeedLines(page, said)
	if err != nil {
		return err
	}
	return t.send(text)
}

func (t *tail) say(said *wire.Control) error {
	line, err := said.Line()
	if err != nil {
		return err
	}
	return t.send(line)
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
