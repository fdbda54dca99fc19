package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/query"
)

// feeder is a client that holds a snapshot and what came after it.
type feeder struct {
	w       *world
	nodes   []*query.Service // each request goes to the next one; none: to that of the world
	asked   int
	account contracts.AccountID
	request query.ResultsRequest
	token   string
	rows    map[string]int // number of each row, as text
	ids     map[string]bool
	at      query.Watermark // of the token
	upTo    *query.EdgeAt   // that the next page is read up to; nil: the current edge
	seen    query.Edge      // by the last page
	before  *query.FeedPage // the last page
	answer  int             // number of bytes after which a page ends; 0: no bound
	ended   string          // code of the expected refusal; empty: it can go on
}

// node returns the service that is asked next.
func (f *feeder) node() *query.Service {
	if len(f.nodes) == 0 {
		return f.w.service
	}
	f.asked++
	return f.nodes[f.asked%len(f.nodes)]
}

// begin takes a snapshot.
func (f *feeder) begin(t require) {
	f.rows, f.ids = map[string]int{}, map[string]bool{}
	f.token = f.snapshot(t, f.rows)
}

// snapshot reads all rows and returns the token of the read.
func (f *feeder) snapshot(t require, into map[string]int) (token string) {
	var got lines
	r := f.request
	r.ChangesToken = &token
	if err := f.node().StreamResults(f.w.t.Context(), query.Principal{Account: f.account}, r, &got); err != nil {
		t.Fatalf("%+v: %v", f.request, err)
	}
	for line := range strings.Lines(got.text.String()) {
		into[strings.TrimSuffix(line, "\n")]++
	}
	return token
}

// fed is a row of a feed.
type fed struct {
	ItemID, Site, CapturedAt, RowID string
	text                            string // as in a snapshot
}

func (f *feeder) page(limit int) (rows []fed, progress query.Progress, err error) {
	r := query.FeedRequest{Since: f.token, Lines: true, AnswerBytes: f.answer}
	if f.before != nil && f.before.Progress.Token == f.token && len(f.ids)%2 == 0 {
		r = r.After(f.before) // as a tail does
	}
	r.Limit, r.UpTo = &limit, f.upTo
	p, err := f.node().Feed(f.w.t.Context(), query.Principal{Account: f.account}, r)
	if err != nil {
		return nil, progress, err
	}
	defer p.Rows.Release()
	f.before = p
	f.seen = p.Seen
	for line := range bytes.Lines(p.Rows.JSON()) {
		var row fed
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, progress, err
		}
		row.text, _, _ = strings.Cut(string(line), `,"rowId":`)
		row.text += "}"
		rows = append(rows, row)
	}
	if text := p.Rows.JSON(); f.answer > 0 && bytes.LastIndexByte(text[:max(0, len(text)-1)], '\n') > f.answer {
		return nil, progress, fmt.Errorf("%d bytes of %d", len(text), f.answer)
	}
	f.token = p.Progress.Token
	return rows, p.Progress, nil
}

// follow reads and adds what came, in pages of at most limit rows.
func (f *feeder) follow(t require, limit int) (all []fed, err error) {
	for {
		rows, progress, err := f.page(limit)
		if err != nil {
			return all, err
		}
		for _, row := range rows {
			if f.ids[row.RowID] || len(row.RowID) != 16 {
				t.Fatalf("row %q twice", row.RowID)
			}
			f.ids[row.RowID] = true
			f.rows[row.text]++
		}
		all = append(all, rows...)
		if len(rows) > limit || !progress.UpToDate && len(rows) < limit && f.answer == 0 {
			t.Fatalf("%d rows of %d, %+v", len(rows), limit, progress)
		}
		if progress.UpToDate {
			return all, nil
		}
	}
}

// expected returns the rows of a query between two watermarks, in order.
func (f *feeder) expected(from, to query.Watermark) []obsRow {
	w := f.w
	after, before := int64(-1<<62), int64(1<<62)
	if f.request.CapturedFrom != "" {
		at, _ := time.Parse(time.RFC3339, f.request.CapturedFrom)
		after = at.UnixMilli()
	} else if f.request.ItemID != 0 || f.request.EAN != "" {
		after = w.now.Add(-168 * time.Hour).UnixMilli()
	} else {
		after = w.now.Add(-24 * time.Hour).UnixMilli()
	}
	if f.request.CapturedTo != "" {
		at, _ := time.Parse(time.RFC3339, f.request.CapturedTo)
		before = at.UnixMilli()
	}
	var in []obsRow
	for _, r := range w.rows {
		at := query.Watermark{Epoch: r.epoch, Seq: r.seq}
		if at.Compare(from) > 0 && at.Compare(to) <= 0 {
			in = append(in, r)
		}
	}
	rows := w.oracle(f.account, f.request, after, before, in)
	slices.SortFunc(rows, func(a, b obsRow) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.seq, b.seq), cmp.Compare(a.capture, b.capture), cmp.Compare(a.offer, b.offer))
	})
	return rows
}

// now begins a feed of what comes from now on and returns its token.
func (f *feeder) now(r query.ResultsRequest) (string, error) {
	p, err := f.node().Feed(f.w.t.Context(), query.Principal{Account: f.account}, query.FeedRequest{Rows: r})
	if err != nil {
		return "", err
	}
	defer p.Rows.Release()
	if p.Rows.Len() != 0 || !p.Progress.UpToDate {
		return "", fmt.Errorf("%d rows, %+v", p.Rows.Len(), p.Progress)
	}
	return p.Progress.Token, nil
}
