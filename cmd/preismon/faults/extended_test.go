package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"preismon/contracts"
)

// into reads an answer into a value.
func (r *reader) into(ctx context.Context, path string, params url.Values, to any) error {
	text, err := r.read(ctx, path, params)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return wrong("I5", "%s with status 200 that is none: %v: %.200s", path, err, text)
	}
	return nil
}

// anyOf returns one of the rows.
func anyOf(rows map[int64]*fact) *fact {
	for _, f := range rows {
		return f
	}
	return nil
}

// movers count the pairs that were captured between two instants.
func (r *reader) movers(ctx context.Context, rows map[int64]*fact) error {
	some := anyOf(rows)
	if some == nil {
		return nil
	}
	want := map[contracts.Pair]bool{}
	for c := range capturesOf(rows) {
		if c.at > some.at {
			want[c.Pair] = true
		}
	}
	var answer struct{ Query struct{ Captured int } }
	params := url.Values{"since": {time.UnixMilli(some.at).UTC().Format(time.RFC3339Nano)}, "until": {time.Now().UTC().Format(time.RFC3339Nano)}}
	if err := r.into(ctx, "/ext/v1/movers", params, &answer); err != nil {
		return err
	}
	if answer.Query.Captured != len(want) {
		return wrong("I5", "movers %v count captures of %d pairs, want %d", params, answer.Query.Captured, len(want))
	}
	return nil
}

// evidence of a row names the event that brought it, and leads to it again.
func (r *reader) evidence(ctx context.Context, rows map[int64]*fact) error {
	f := anyOf(rows)
	if f == nil {
		return nil
	}
	var answer struct {
		Data []struct {
			Price          json.Number
			EventID, Again string
		}
	}
	params := url.Values{"itemId": {f.item.String()}, "site": {string(f.site)}, "capturedAt": {time.UnixMilli(f.at).UTC().Format(time.RFC3339Nano)}}
	if err := r.into(ctx, "/ext/v1/evidence", params, &answer); err != nil {
		return err
	}
	if len(answer.Data) != f.offers {
		return wrong("I5", "evidence of %d rows of %+v", len(answer.Data), *f)
	}
	for _, d := range answer.Data {
		if minor(d.Price) != f.price {
			continue
		}
		if want := r.ledger.sent(f); d.EventID != want {
			return wrong("I5", "evidence of %+v names the event %q, which is %q", *f, d.EventID, want)
		}
		path, query, _ := strings.Cut(d.Again, "?")
		again, err := url.ParseQuery(query)
		if err != nil {
			return wrong("I5", "evidence of %+v leads to %q: %v", *f, d.Again, err)
		}
		var page struct{ Data []result }
		if err := r.into(ctx, path, again, &page); err != nil {
			return err
		}
		if len(page.Data) != 1 || page.Data[0].PriceMoney.AmountMinor != f.price {
			return wrong("I5", "evidence of %+v leads to %+v", *f, page.Data)
		}
		return nil
	}
	return wrong("I5", "evidence lacks the row %+v: %+v", *f, answer.Data)
}

// explained: a stream of the window is accepted, and its bound holds.
func (r *reader) explained(ctx context.Context, rows int) error {
	params := r.window()
	params.Set("path", "/v1/results/stream")
	var answer struct {
		Accepted   bool
		RowsAtMost *int
	}
	if err := r.into(ctx, "/ext/v1/explain", params, &answer); err != nil {
		return err
	}
	if !answer.Accepted || answer.RowsAtMost != nil && *answer.RowsAtMost < rows {
		return wrong("I5", "a stream of %d rows is explained as %+v", rows, answer)
	}
	return nil
}

// standing is where a merchant stands with a product.
type standing struct {
	own, cheapest int64
	rank, offers  int
}

// position compares the prices of one merchant with all others of the newest
// captures, product by product: all sites are in one market.
func (r *reader) position(ctx context.Context, newest map[int64]*fact) error {
	const merchant = "merchant 1"
	own, others := map[contracts.ItemID]int64{}, map[contracts.ItemID][]int64{}
	for _, f := range newest {
		if before, found := own[f.item]; f.merchant != merchant {
			others[f.item] = append(others[f.item], f.price)
		} else if !found || f.price < before {
			own[f.item] = f.price
		}
	}
	want := map[contracts.ItemID]standing{}
	for item, price := range own {
		s := standing{own: price, cheapest: math.MaxInt64, rank: 1, offers: len(others[item])}
		for _, other := range others[item] {
			if s.cheapest = min(s.cheapest, other); other < price {
				s.rank++
			}
		}
		if s.offers > 0 {
			want[item] = s
		}
	}
	var answer struct {
		Data []struct {
			ItemID       string
			OwnPrice     json.Number
			Rank, Offers int
			Cheapest     struct{ Price json.Number }
		}
	}
	if err := r.into(ctx, "/ext/v1/position", url.Values{"ownMerchant": {merchant}, "offers": {"all"}, "limit": {"1000"}}, &answer); err != nil {
		return err
	}
	got := map[contracts.ItemID]standing{}
	for _, d := range answer.Data {
		item, err := strconv.ParseUint(d.ItemID, 10, 64)
		if err != nil {
			return wrong("I5", "a position of %+v", d)
		}
		got[contracts.ItemID(item)] = standing{minor(d.OwnPrice), minor(d.Cheapest.Price), d.Rank, d.Offers}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return wrong("I5", "the positions of %s are %v, want %v", merchant, got, want)
	}
	return nil
}

// minor returns an amount in cents; -1: it is none.
func minor(amount json.Number) int64 {
	v, err := amount.Float64()
	if err != nil {
		return -1
	}
	return int64(math.Round(100 * v))
}

// sent returns the id of the event that brings a row.
func (l *ledger) sent(f *fact) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[f.event].ID
}
