package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"preismon/query"
)

// follower holds a snapshot and the changes after it, of pages and of tails,
// throughout a fault: it
// starts over when it is told that it must, and with each iteration.
type follower struct {
	mu    sync.Mutex
	all   *answer // nil: it starts over
	since int64   // of the window
	token string

	pages, tails, gone atomic.Int64
}

// feedPath is that of changes.
const feedPath = "/ext/v1/changes"

// errGone is returned for a feed that reports that it cannot continue.
var errGone = errors.New("gone")

// changes brings the followed rows up to date and checks that they equal a
// snapshot taken now: each row once, and none missing that were read before.
func (r *reader) changes(ctx context.Context) (map[int64]*fact, error) {
	f := &r.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil || f.since != r.since.Load() {
		if err := r.follow(ctx); err != nil {
			return nil, err
		}
	}
	now := r.begin()
	f.all.before, f.all.sentAt = now.before, now.sentAt
	step := func() (bool, error) { return r.page(ctx, 1+rand.IntN(500)) }
	if rand.IntN(2) == 0 {
		step = func() (bool, error) { return r.tail(ctx) }
	}
	for {
		upToDate, err := step()
		if errors.Is(err, errGone) {
			f.all = nil
			f.gone.Add(1)
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		if err != nil {
			return nil, err
		}
		if upToDate {
			rows, err := f.all.whole()
			return maps.Clone(rows), err // the caller's copy, because the follower's rows go on changing
		}
	}
}

// follow starts with a snapshot.
func (r *reader) follow(ctx context.Context) error {
	f := &r.follower
	a, since := r.begin(), r.since.Load()
	params := r.window()
	params.Set("capturedTo", time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)) // later than all future captures
	header, err := r.lines(ctx, params, a, "changes-token")
	if err != nil {
		return err
	}
	if f.token = header.Get("X-Changes-Token"); f.token == "" {
		return wrong("I5", "a complete stream of %d rows that was asked for a token of changes has none", len(a.rows))
	}
	f.all, f.since = a, since
	return nil
}

// page adds the changes that came next.
func (r *reader) page(ctx context.Context, limit int) (upToDate bool, err error) {
	f := &r.follower
	text, err := r.read(ctx, feedPath, url.Values{"since": {f.token}, "limit": {strconv.Itoa(limit)}})
	if err != nil {
		return false, err
	}
	var page struct {
		Data     []result
		Progress *query.Progress
	}
	if err := json.Unmarshal(text, &page); err != nil || page.Progress == nil || page.Progress.Token == "" || len(page.Data) > limit {
		return false, wrong("I5", "a page of changes with status 200 that is none: %v: %.200s", err, text)
	}
	for i := range page.Data {
		if err := f.all.add(&page.Data[i]); err != nil {
			return false, fmt.Errorf("changes: %w", err)
		}
	}
	f.token = page.Progress.Token
	f.pages.Add(1)
	return page.Progress.UpToDate, nil
}

// tailLine is a row, or a line that says how far the tail is.
type tailLine struct {
	result
	Control string `json:"_control"`
	query.Progress
	Reason string
}

// tail opens a tail at the last token, and adds what comes until it is up to
// date; then it is left. Rows are added with the token behind them, because
// those behind the last token come again when it was cut off.
func (r *reader) tail(ctx context.Context) (upToDate bool, err error) {
	f := &r.follower
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	resp, err := r.ask(ctx, feedPath, url.Values{"since": {f.token}, "follow": {"true"}})
	if err != nil {
		return false, err
	}
	defer resp.Body.Close() //nolint:errcheck // it is left
	f.tails.Add(1)
	var rows []result
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), 64<<20)
	for lines.Scan() {
		var l tailLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			if lines.Scan(); lines.Err() != nil { // the last line of a broken tail
				break
			}
			return false, wrong("I5", "a line of a tail that is no JSON: %.200s", lines.Bytes())
		}
		switch l.Control {
		case "":
			rows = append(rows, l.result)
			continue
		case "reset":
			return false, fmt.Errorf("%w: %s", errGone, l.Reason)
		case "progress", "end":
		default:
			return false, wrong("I5", "a tail has the control line %q", lines.Bytes())
		}
		if l.Token == "" {
			return false, wrong("I5", "a tail has a %s without a token", l.Control)
		}
		for i := range rows {
			if err := f.all.add(&rows[i]); err != nil {
				return false, fmt.Errorf("tail: %w", err)
			}
		}
		f.token, rows = l.Token, nil
		switch {
		case l.UpToDate:
			return true, nil
		case l.Control == "end":
			return false, fmt.Errorf("%w: the tail ended: %s", errRefused, l.Reason)
		}
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("%w: %w", errRefused, err)
	}
	return false, wrong("I5", "a tail ended well without a last line, after %d rows", len(rows))
}

// mayBeGone reports whether a read may be refused permanently, with a reason.
func mayBeGone(path string, status int) bool {
	return path == feedPath && status == http.StatusGone
}
