package load_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// feed has the tokens of feeds of an account, which were begun before the last
// rows were published.
type feed struct{ changes, alerts string }

// beginFeeds begins the feeds of the accounts that clients have.
func (e *estate) beginFeeds() {
	t := e.t
	t.Helper()
	n := e.node()
	defer n.Kill()
	e.feeds = map[string]feed{}
	for _, name := range names {
		a := e.account(name)
		c := &client{base: n.URL, http: &http.Client{}, token: e.token(a, auth.Grant{Audience: auth.RESTAudience, Lifetime: time.Hour})}
		begin := func(path string) string {
			var begun struct{ Progress struct{ Token string } }
			until(t, 30*time.Second, "a feed begins", func() bool { return c.json(t.Context(), path, &begun) == nil })
			return begun.Progress.Token
		}
		e.feeds[a.LoginIdentifier] = feed{changes: begin("/ext/v1/changes"), alerts: begin("/ext/v1/alerts?rule=PRICE_DROP&percent=1")}
		c.http.CloseIdleConnections()
	}
}

// fed reads the ids of the rows of the feed in pages: what each tail must get.
func (c *client) fed(t testing.TB) (ids []string) {
	t.Helper()
	for token := c.feed.changes; ; {
		var page struct {
			Data     []struct{ RowID string }
			Progress struct {
				Token    string
				UpToDate bool
			}
		}
		must.Do(t, c.json(t.Context(), "/ext/v1/changes?limit=10000&since="+token, &page))
		for _, r := range page.Data {
			ids = append(ids, r.RowID)
		}
		if token = page.Progress.Token; page.Progress.UpToDate {
			return ids
		}
	}
}

// tail reads the feed of a client as a tail, over and over from its beginning.
// It keeps rows together with the token behind them, as clients should, and
// continues from there when it is cut off or ends.
type tail struct {
	client *client
	lives  time.Duration // of its access tokens
	cuts   bool          // it cuts itself off now and then
	want   []string      // ids of all rows
	rnd    *rand.Rand

	rows  []string // since the beginning
	token string   // behind them
	cut   int      // the row at which it cuts itself off; 0: none

	complete atomic.Bool  // it has all rows
	whole    atomic.Int64 // how often it got them
}

func (c *client) tail(want []string, lives time.Duration, cuts bool) *tail {
	f := &tail{client: c, lives: lives, cuts: cuts, want: want, rnd: rand.New(rand.NewPCG(9, rand.Uint64()))}
	f.begin()
	return f
}

func (f *tail) begin() {
	f.rows, f.token, f.cut = nil, f.client.feed.changes, 0
	f.complete.Store(false)
	if f.cuts {
		f.cut = 1 + f.rnd.IntN(len(f.want))
	}
}

// run follows until ctx ends, and hands on how each connection went.
func (f *tail) run(ctx context.Context, each func(sent time.Time, r reply)) {
	for ctx.Err() == nil {
		sent := time.Now()
		r := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		each(sent, r)
		if r.wrong != nil {
			f.begin()
		}
		if r.status != http.StatusOK {
			pause(ctx, time.Duration(max(1, min(r.retry, 2)))*time.Second/4)
		}
	}
}

// tailLine is a row or a control line.
type tailLine struct {
	RowID    string
	Control  string `json:"_control"`
	Token    string
	UpToDate bool
	Reason   string
}

// follow opens the tail at its token and reads it until it ends. Its reply is
// good if it ended with a last line, or was cut off by itself.
func (f *tail) follow(ctx context.Context) (r reply) {
	r = reply{kind: follow, retry: -1}
	access := f.client.estate.token(f.client.account, auth.Grant{Audience: auth.RESTAudience, Lifetime: f.lives})
	began := time.Now()
	resp, err := f.client.at(access).Send(ctx, http.MethodGet, "/ext/v1/changes?follow=true&since="+f.token, nil)
	r.took = time.Since(began)
	if err != nil {
		r.broke = err
		return r
	}
	defer resp.Body.Close() //nolint:errcheck // it may be cut off
	r.began(resp)
	if r.status != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			r.status, r.broke = 0, err
			return r
		}
		r.refused(text)
		return r
	}
	last, err := f.read(resp.Body)
	switch {
	case errors.Is(err, errCut):
	case errors.Is(err, errOthers):
		r.wrong = fmt.Errorf("%w: %d, of %d in pages", err, len(f.rows), len(f.want))
	case err != nil:
		r.status, r.broke = 0, err
	case last.Control != "end":
		r.wrong = fmt.Errorf("a tail that ends well with %+v", last)
	default:
		r.code = last.Reason
	}
	if f.complete.Load() {
		f.begin()
	}
	return r
}

var (
	errCut    = errors.New("it cut itself off")
	errOthers = errors.New("a tail has other rows, or in another order")
)

// read reads the lines of a tail to its end. Rows are kept when their token
// comes; those behind the last one come again.
func (f *tail) read(body io.Reader) (last tailLine, err error) {
	var rows []string
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for lines.Scan() {
		last = tailLine{}
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			lines.Scan() // what is not the last line of one that was cut off ends well
			return last, lines.Err()
		}
		if last.Control == "" {
			rows = append(rows, last.RowID)
			if f.cut > 0 && len(f.rows)+len(rows) >= f.cut {
				f.cut = 0
				return last, errCut
			}
			continue
		}
		if last.Token != "" {
			f.rows, f.token, rows = append(f.rows, rows...), last.Token, nil
			if n := len(f.rows); n > len(f.want) || !slices.Equal(f.rows, f.want[:n]) {
				return last, errOthers
			}
			if len(f.rows) == len(f.want) && !f.complete.Swap(true) {
				f.whole.Add(1)
			}
		}
	}
	return last, lines.Err()
}
