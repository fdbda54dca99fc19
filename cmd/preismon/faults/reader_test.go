package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/caller"
)

// errRefused is an answer that a client can distinguish from a good one: no
// connection, a broken transfer, or a status of a server in trouble.
var errRefused = errors.New("refused")

// finding is something that must never happen.
type finding struct {
	invariant string // I1 to I9
	text      string
}

func (f *finding) Error() string { return f.invariant + ": " + f.text }

func wrong(invariant, format string, args ...any) error {
	return &finding{invariant, fmt.Sprintf(format, args...)}
}

// reader is a customer: it reads what its mandate may see, in every way that
// exists, and compares it with the ledger and with what it read before.
type reader struct {
	mandate uint64
	ledger  *ledger
	base    func() string // URL of the query service
	rnd     *rand.Rand
	client  *http.Client
	grants  *grants     // of pairs that come and go
	file    *file       // to download; nil: none
	found   func(error) // receives findings

	since        atomic.Int64 // reads captures from here on
	follower     follower
	reads, fails atomic.Int64
	whole        atomic.Int64 // downloads

	mu    sync.Mutex
	token string
	seen  map[int64]*fact          // in any earlier answer since the last forget
	last  map[contracts.Pair]int64 // newest capture seen
}

func newReader(mandate uint64, l *ledger, base func() string, seed uint64, found func(error)) *reader {
	r := &reader{
		mandate: mandate, ledger: l, base: base, rnd: rand.New(rand.NewPCG(seed, mandate)), found: found, grants: &grants{},
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}},
		seen:   map[int64]*fact{}, last: map[contracts.Pair]int64{},
	}
	r.since.Store(l.mark())
	return r
}

// forget starts over from a moment.
func (r *reader) forget(since int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since.Store(since)
	r.seen = map[int64]*fact{}
}

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		var err error
		kinds := 4
		if r.file != nil {
			kinds++
		}
		switch r.rnd.IntN(kinds) {
		case 0:
			_, err = r.pages(ctx, 1+r.rnd.IntN(300))
		case 1:
			_, err = r.stream(ctx)
		case 2:
			_, err = r.latest(ctx)
		case 3:
			_, err = r.changes(ctx)
		case 4:
			err = r.download(ctx)
		}
		r.reads.Add(1)
		var f *finding
		switch {
		case errors.As(err, &f):
			r.found(fmt.Errorf("mandate %d: %w", r.mandate, err))
		case err != nil:
			r.fails.Add(1)
		}
		time.Sleep(60 * time.Millisecond)
	}
}

func (r *reader) login(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token != "" {
		return nil
	}
	c, err := r.at("").Login(ctx, login(r.mandate), password)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	r.token = c.Token
	return nil
}

// at is the reader at its node, with a token.
func (r *reader) at(token string) caller.Client {
	return caller.Client{HTTP: r.client, URL: r.base(), Token: token}
}

var errForbidden = errors.New("forbidden")

// turnedAway reports whether a status is one of a server in trouble. 429 is
// one, because a killed node keeps its places for a while.
func turnedAway(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests
}

// ask sends a read by GET.
func (r *reader) ask(ctx context.Context, path string, params url.Values, prefer ...string) (*http.Response, error) {
	return r.request(ctx, http.MethodGet, path, params, nil, prefer...)
}

// request sends a read, with a body in JSON if there is one. A status that is
// neither 200 nor one of a server in trouble is a finding.
func (r *reader) request(ctx context.Context, method, path string, params url.Values, body []byte, prefer ...string) (*http.Response, error) {
	if err := r.login(ctx); err != nil {
		return nil, err
	}
	resp, err := r.at(r.token).Send(ctx, method, path+"?"+params.Encode(), body, prefer...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if turnedAway(resp.StatusCode) {
		return nil, fmt.Errorf("%w: status %d: %s", errRefused, resp.StatusCode, text)
	}
	if mayBeGone(path, resp.StatusCode) {
		return nil, fmt.Errorf("%w: %s", errGone, text)
	}
	err = wrong("I5", "%s?%s: status %d: %s", path, params.Encode(), resp.StatusCode, text)
	if resp.StatusCode == http.StatusForbidden {
		err = errors.Join(err, errForbidden)
	}
	return nil, err
}

// read returns a complete answer.
func (r *reader) read(ctx context.Context, path string, params url.Values) ([]byte, error) {
	resp, err := r.ask(ctx, path, params)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return text, nil
}

func (r *reader) window() url.Values {
	return url.Values{
		"globalScope":  {"true"},
		"capturedFrom": {time.UnixMilli(r.since.Load()).UTC().Format(time.RFC3339Nano)},
		"capturedTo":   {time.Now().UTC().Format(time.RFC3339Nano)}, // later than all captures
	}
}

// pages walks through all pages.
func (r *reader) pages(ctx context.Context, limit int) (map[int64]*fact, error) {
	a, params := r.begin(), r.window()
	params.Set("limit", strconv.Itoa(limit))
	newest := int64(1) << 62
	for {
		a.sentAt = time.Now()
		text, err := r.read(ctx, "/v1/results", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Data   []result
			Paging *struct {
				Returned   int
				NextCursor string
			}
		}
		if err := json.Unmarshal(text, &page); err != nil || page.Paging == nil {
			return nil, wrong("I5", "a page with status 200 that is none: %v: %.200s", err, text)
		}
		if page.Paging.Returned != len(page.Data) || len(page.Data) > limit {
			return nil, wrong("I5", "a page of %d rows says %d, limit %d", len(page.Data), page.Paging.Returned, limit)
		}
		for i := range page.Data {
			if err := a.add(&page.Data[i]); err != nil {
				return nil, err
			}
			if at := page.Data[i].CapturedAt.UnixMilli(); at > newest {
				return nil, wrong("I6", "rows out of order in a walk: %+v", page.Data[i])
			} else {
				newest = at
			}
		}
		if page.Paging.NextCursor == "" {
			return a.whole()
		}
		params.Set("cursor", page.Paging.NextCursor)
	}
}

// lines reads NDJSON to its end and returns its trailer, which must state that
// it is complete.
func (r *reader) lines(ctx context.Context, params url.Values, a *answer, prefer ...string) (http.Header, error) {
	resp, err := r.ask(ctx, "/v1/results/stream", params, prefer...)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), 64<<20)
	for lines.Scan() {
		var row result
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			if lines.Scan(); lines.Err() != nil { // the last line of a broken stream
				break
			}
			return nil, wrong("I5", "a line of a stream that is no JSON: %.200s", lines.Bytes())
		}
		if err := a.add(&row); err != nil {
			return nil, err
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	case resp.Trailer.Get("X-Results-Complete") != "true":
		return nil, wrong("I5", "a stream of %d rows ended well without saying that it is complete", len(a.rows))
	case resp.Trailer.Get("X-Results-Returned") != strconv.Itoa(len(a.rows)):
		return nil, wrong("I5", "a stream of %d rows says %s", len(a.rows), resp.Trailer.Get("X-Results-Returned"))
	}
	return resp.Trailer, nil
}

func (r *reader) stream(ctx context.Context) (map[int64]*fact, error) {
	a := r.begin()
	if _, err := r.lines(ctx, r.window(), a); err != nil {
		return nil, err
	}
	return a.whole()
}

// latest reads the newest capture of each pair: all of its rows, and none
// older than one seen before.
func (r *reader) latest(ctx context.Context) (map[int64]*fact, error) {
	a := r.begin()
	r.mu.Lock()
	before := make(map[contracts.Pair]int64, len(r.last))
	for p, at := range r.last {
		before[p] = at
	}
	r.mu.Unlock()
	if _, err := r.lines(ctx, url.Values{"orderId": {strconv.FormatUint(r.mandate, 10)}, "latestObservationPerPair": {"true"}}, a); err != nil {
		return nil, err
	}
	rows, at := map[contracts.Pair]int{}, map[contracts.Pair]int64{}
	for _, f := range a.rows {
		p := contracts.Pair{Item: f.item, Site: f.site}
		if at[p] != 0 && at[p] != f.at {
			return nil, wrong("I2", "two captures of the pair %v in the latest", p)
		}
		at[p] = f.at
		rows[p]++
	}
	for _, f := range a.rows {
		if p := (contracts.Pair{Item: f.item, Site: f.site}); rows[p] != f.offers {
			return nil, wrong("I5", "%d rows of the latest capture of %v, which has %d", rows[p], p, f.offers)
		}
	}
	for p, was := range before {
		if at[p] < was {
			return nil, wrong("I1", "the latest capture of %v went back from %d to %d", p, was, at[p])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, t := range at {
		if sees(r.mandate, &fact{item: p.Item, site: p.Site}) {
			r.last[p] = max(r.last[p], t)
		}
	}
	return a.rows, nil
}
