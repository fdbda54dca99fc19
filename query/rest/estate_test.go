package rest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
)

// noon is the time of the requests to an estate.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newEstate is a live surface at noon, for lists and orders.
func newEstate(t testing.TB) *live {
	t.Helper()
	l := serveLive(t)
	l.now = noon
	l.clock.freeze(noon)
	return l
}

// order creates an order; the scope says which pairs an active one has.
func (e *live) order(mandate, id int, active bool) {
	e.t.Helper()
	e.exec(fmt.Sprintf("INSERT INTO orders (mandate, order_id, name, active, created_at, interval_minutes, version) VALUES (%d, %d, 'Order %d', %t, '2026-11-01 00:00:00', 60, 1)", mandate, id, id, active))
}

// captured writes the newest capture of a pair.
func (e *live) captured(item int, site, outcome string, at time.Time) {
	e.t.Helper()
	e.exec(`INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		VALUES (?, ?, fromUnixTimestamp64Milli(?), 1, ?, 0, ?, [0], [''], [-1], [-1], [''], [0], [0], [255], [''], [''], [''], [''])`,
		uint64(item), site, at.UnixMilli(), uint64(at.Unix()), outcome)
}

// read returns a page for an account.
func (e *live) read(account contracts.AccountID, path string) page {
	e.t.Helper()
	a := e.get(path, e.token(account)).want(e.t, 200)
	p := decode[page](e.t, a)
	if p.Paging.Returned != len(p.Data) || len(p.Data) > p.Paging.Limit {
		e.t.Errorf("%s: %d records, %+v", path, len(p.Data), p.Paging)
	}
	return p
}

// walk follows the cursors of a list to its end and returns all records.
func (e *live) walk(account contracts.AccountID, path string) (all []map[string]any) {
	e.t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	for next := path; ; {
		p := e.read(account, next)
		all = append(all, p.Data...)
		if p.Paging.NextCursor == "" {
			return all
		}
		next = path + join + "cursor=" + url.QueryEscape(p.Paging.NextCursor)
	}
}
