package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
)

// feeder is a client that holds a snapshot and what came after it.
type feeder struct {
	w       *world
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
	if err := f.w.service.StreamResults(f.w.t.Context(), query.Principal{Account: f.account}, r, &got); err != nil {
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
	p, err := f.w.service.Feed(f.w.t.Context(), query.Principal{Account: f.account}, r)
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

// told writes the row that notifies readers of a change.
func (w *world) told(stream string) {
	w.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES (?, 0, 0, ?)", stream, uint64(time.Now().UnixNano()))
}

// regrant changes the scope of mandate one as the projector does: in force,
// then filled, then applied. It calls between before the scope is applied.
func (w *world) regrant(version uint64, change func(map[contracts.Pair][]contracts.OrderID), between func()) {
	w.t.Helper()
	pairs := w.scopes[mandateOne]
	was := maps.Clone(pairs)
	change(pairs)
	w.exec("INSERT INTO scope_pairs VALUES " + strings.Join(scopeRows(mandateOne, version, pairs), ", "))
	w.exec("INSERT INTO scopes VALUES (1, ?, ?, 6)", version, uint64(len(pairs)))
	w.told("IN_FORCE")
	between()
	but := func(of, other map[contracts.Pair][]contracts.OrderID) string { // the pairs that only one has
		list := []string{"(0, '')"}
		for p := range of {
			if _, has := other[p]; !has {
				list = append(list, fmt.Sprintf("(%d, '%s')", p.Item, p.Site))
			}
		}
		return strings.Join(list, ", ")
	}
	w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		SELECT 1, -toUnixTimestamp64Milli(captured_at), item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text
		FROM observations WHERE (item, site) IN (` + but(pairs, was) + ")")
	w.exec("DELETE FROM observations_by_mandate WHERE mandate = 1 AND (item, site) IN (" + but(was, pairs) + ")")
	w.exec("INSERT INTO scopes_applied VALUES (1, 0, ?)", version)
	w.told("IN_FORCE")
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

// TestFeedIsTheLaterSnapshot checks the promise of a feed against random rows
// with ties and late arrivals, two epochs, pages of any size, grants,
// revocations, tables rebuilt and restored: what a client holds is the later
// snapshot, and each row came once and in order, or the client was told to
// begin again.
func TestFeedIsTheLaterSnapshot(t *testing.T) {
	w := newWorld(t, 323, 150)
	w.cfg.SliceRows = 10_000
	w.listen()
	w.tells()
	r, answers := rand.New(rand.NewPCG(32, 3)), rand.New(rand.NewPCG(32, 4))
	whole := w.now.Add(-40 * 24 * time.Hour).Format(time.RFC3339)
	accounts := []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther}
	requests := []query.ResultsRequest{
		{},
		{Site: "gamma.example"},
		{OrderID: orderB, CapturedFrom: whole},
		{ItemID: 4, CapturedFrom: whole},
		{EAN: "4006381333931"},
		{Site: "beta.example", CapturedFrom: whole, CapturedTo: w.now.Add(-24 * time.Hour).Format(time.RFC3339)}, // late arrivals only
		{OrderID: orderA, CapturedFrom: whole, Filters: query.Filters{Merchant: "Merchant 2's \\ shop"}},
		{Site: "alpha.example", CapturedFrom: whole, Filters: query.Filters{CoverageState: "UNAVAILABLE"}, Include: query.Include{ExportFields: true}},
	}
	var all []*feeder
	for i, a := range accounts {
		for j, q := range requests {
			if (i+j)%testserver.Often(3, 2) > 0 {
				continue
			}
			f := &feeder{w: w, account: a, request: q, at: query.Watermark{Epoch: w.epoch, Seq: w.mark}}
			f.begin(t)
			all = append(all, f)
		}
	}
	version := uint64(7)
	var count struct{ rows, walks, equal, scope, rebuilt, refused int }
	steps := testserver.Often(12, 23)
	for step := range steps {
		ends := func(code string, of ...contracts.AccountID) {
			for _, f := range all {
				if slices.Contains(of, f.account) && f.ended != query.CodeFeedScopeChanged {
					f.ended = code
				}
			}
		}
		after, before := time.Duration(0), w.mark
		if step%4 == 1 {
			after = 2 * time.Hour // dated ahead of the clock
		}
		switch {
		case step == 6: // the stream lost its tail: rows beyond the checkpoint stay, and a new epoch begins
			w.insert(r, 10, 0)
			w.epoch++
			w.mark = 0
			w.insert(r, 20, 0)
		default:
			w.insert(r, 1+r.IntN(testserver.Often(50, 150)), after)
		}
		now := query.Watermark{Epoch: w.epoch, Seq: w.mark}
		if step%5 == 4 && w.mark > before+2 { // an incomplete batch
			now.Seq -= 2
		}
		w.setMark(now.Seq)
		var lost []contracts.Pair
		switch step {
		case 3, 11, 19:
			version++
			ends(query.CodeFeedScopeChanged, accountWhole, accountOrder, accountSites, accountNone)
			w.regrant(version, func(pairs map[contracts.Pair][]contracts.OrderID) {
				for p := range pairs {
					if lost = append(lost, p); len(lost) == 2 {
						break
					}
				}
				pairs[contracts.Pair{Item: 6, Site: contracts.SiteKey(worldSites[version%4])}] = []contracts.OrderID{orderA, orderB}
				for _, p := range lost {
					delete(pairs, p)
				}
			}, func() {
				var none string
				err := w.service.StreamResults(t.Context(), query.Principal{Account: accountWhole}, query.ResultsRequest{ChangesToken: &none}, &lines{})
				if fault.KindOf(err) != fault.Unavailable || none != "" {
					t.Errorf("a token while a grant is filled in: %v", err)
				}
				count.refused++
			})
		case 8, 15: // rebuilt: a row appears at an old place
			late := w.rows[r.IntN(len(w.rows))]
			late.capture += 500
			w.rows = append(w.rows, late)
			w.write([]obsRow{late})
			w.told("GENERATION")
			ends(query.CodeFeedHistoryRebuilt, accounts...)
		case steps - 2: // restored from a little before
			w.exec("TRUNCATE TABLE checkpoints")
			now.Seq -= min(3, now.Seq-1)
			w.setMark(now.Seq)
			for _, stream := range []string{"CATALOG", "IN_FORCE", "GENERATION"} {
				w.told(stream)
			}
			ends(query.CodeFeedHistoryRebuilt, accounts...)
		}
		for _, f := range all {
			if r.IntN(4) > 0 && step < steps-1 {
				continue // it comes back later
			}
			limit := []int{2, 5, 11, 50, 1000, 10_000}[r.IntN(6)]
			f.answer = []int{0, 1, 1_000, 20_000}[answers.IntN(4)]
			got, err := f.follow(t, limit)
			count.walks++
			if f.ended != "" {
				e, ok := errors.AsType[*fault.Error](err)
				if !ok || e.Kind != fault.Gone || e.Code != f.ended || !strings.Contains(e.Msg, "Prefer: changes-token") {
					t.Fatalf("step %d, account %d, %+v: %v", step, f.account, f.request, err)
				}
				if f.ended == query.CodeFeedScopeChanged {
					count.scope++
				} else {
					count.rebuilt++
				}
				f.begin(t)
				f.at, f.ended = now, ""
				continue
			}
			if err != nil {
				t.Fatalf("step %d: account %d: %+v: %v", step, f.account, f.request, err)
			}
			count.rows += len(got)
			wanted := f.expected(f.at, now)
			if len(got) != len(wanted) {
				t.Fatalf("step %d, account %d, %+v, limit %d: %d rows, expected %d", step, f.account, f.request, limit, len(got), len(wanted))
			}
			for i, row := range wanted {
				is := got[i]
				if at, err := time.Parse(time.RFC3339, is.CapturedAt); err != nil || is.ItemID != fmt.Sprint(row.item) || is.Site != row.site || at.UnixMilli() != row.ms {
					t.Fatalf("step %d: row %d is %+v, expected %+v", step, i, is, row)
				}
			}
			later := map[string]int{}
			f.snapshot(t, later)
			if diff := gocmp.Diff(later, f.rows); diff != "" {
				t.Fatalf("step %d, account %d, %+v: %s", step, f.account, f.request, diff)
			}
			count.equal++
			f.at = now
		}
	}
	t.Logf("feeds=%d steps=%d walks=%d rows=%d equal=%d scope=%d rebuilt=%d refused=%d", len(all), steps, count.walks, count.rows, count.equal, count.scope, count.rebuilt, count.refused)
	if count.rows < testserver.Often(20, 100) || count.scope == 0 || count.rebuilt == 0 || count.equal < testserver.Often(8, 25) {
		t.Errorf("too little was seen: %+v", count)
	}
}

// TestFeedReadsWhatIsNew: a page of a feed costs what arrived, not what is
// stored.
func TestFeedReadsWhatIsNew(t *testing.T) {
	w := newWorld(t, 324, 0)
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, number + 1, 'alpha.example', [201] FROM numbers(10000)")
	w.exec("INSERT INTO scopes VALUES (2, 8, 10000, 10000)")
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	// A batch is 100 rows of one minute; one in a hundred was captured up to a
	// month before. The stored rows are merged into one part; each step adds
	// rows in a part of their own, and step 3 merges all.
	insert := func(from, to int) {
		w.exec(`INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, capture, offer, outcome, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths)
			SELECT 2, -toInt64(? + number * 600 - if(number % 100 = 0, cityHash64(number) % 2592000000, 0)), number % 10000 + 1, 'alpha.example', ?, intDiv(number, 100) + 1, number % 100, 0, 'priceObserved', 'EUR', 1000, -1, 'M', 0, 0, 255
			FROM numbers(?, ?)`, w.now.Add(-48*time.Hour).UnixMilli(), uint32(epoch), from, to-from)
	}
	const stored = 150_000
	insert(0, stored)
	w.exec("OPTIMIZE TABLE observations_by_mandate FINAL")
	w.setMark(stored / 100)
	asked := w.listen()
	f := &feeder{w: w, account: accountOther, ids: map[string]bool{}, rows: map[string]int{}}
	var err error
	if f.token, err = f.now(query.ResultsRequest{}); err != nil {
		t.Fatal(err)
	}
	for step := range 5 {
		insert(stored+step*1000, stored+(step+1)*1000)
		if step == 3 {
			w.exec("OPTIMIZE TABLE observations_by_mandate FINAL") // the new rows are among the old ones
		}
		w.setMark(uint64(stored+(step+1)*1000) / 100)
		got, err := f.follow(t, 1000)
		if err != nil || len(got) != 1000 {
			t.Fatalf("%d rows, %v", len(got), err)
		}
		read := asked.take("feed")[0].Rows
		t.Logf("step %d: %d rows stored, %d given, %d read", step, stored, len(got), read)
		most := uint64(10 * 1000)
		if step == 3 {
			most = 25 * 1000 // a late row is in a granule of old ones
		}
		if read > most {
			t.Errorf("step %d: %d rows are read for %d", step, read, len(got))
		}
	}
}

// now begins a feed of what comes from now on and returns its token.
func (f *feeder) now(r query.ResultsRequest) (string, error) {
	p, err := f.w.service.Feed(f.w.t.Context(), query.Principal{Account: f.account}, query.FeedRequest{Rows: r})
	if err != nil {
		return "", err
	}
	defer p.Rows.Release()
	if p.Rows.Len() != 0 || !p.Progress.UpToDate {
		return "", fmt.Errorf("%d rows, %+v", p.Rows.Len(), p.Progress)
	}
	return p.Progress.Token, nil
}
