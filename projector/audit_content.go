package projector

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// narrowRow distinguishes rows by what they describe and by price.
const narrowRow = `cityHash64(item, site, toUnixTimestamp64Milli(captured_at), capture, offer, toInt8(outcome), currency, price_minor)`

// separator separates the columns in a row's text.
const separator = "\x1f"

// rowText is the content of a row as one text; appendRow builds the same text
// from an event. The names are those of rowColumns.
const rowText = `concatWithSeparator('\x1F', toString(item), toString(site), toString(toUnixTimestamp64Milli(captured_at)), ` +
	`toString(capture), toString(offer), toString(toInt8(outcome)), toString(currency), toString(price_minor), toString(shipping_minor), ` +
	`toString(merchant), toString(is_prime), toString(is_buy_box), toString(rating_tenths), toString(manufacturer), title, url, toString(delivery_text))`

var rowColumns = []string{
	"item", "site", "captured_at", "capture", "offer", "outcome", "currency", "price_minor", "shipping_minor", "merchant", "is_prime",
	"is_buy_box", "rating_tenths", "manufacturer", "title", "url", "delivery_text",
}

// appendRow appends the text of one row of a capture.
func appendRow(b []byte, site string, capture, offer int, o *contracts.Observation) []byte {
	f := &noOffer
	if offer < len(o.Offers) {
		f = &o.Offers[offer]
	}
	next := func(s string) { b = append(append(b, separator...), s...) }
	number := func(n int64) { b = strconv.AppendInt(append(b, separator...), n, 10) }
	b = strconv.AppendUint(b, uint64(o.ItemID), 10)
	next(site)
	number(o.CapturedAt.UnixMilli())
	number(int64(capture))
	number(int64(offer))
	number(int64(o.Outcome))
	next(string(f.CurrencyCode))
	number(amount(f.Price))
	number(amount(f.Shipping))
	next(composed(f.Merchant))
	number(int64(f.IsPrime))
	number(int64(f.IsBuyBox))
	number(int64(f.Rating.Tenths()))
	next(composed(f.Manufacturer))
	next(f.Title)
	next(f.URL)
	next(f.DeliveryText)
	return b
}

// sum counts rows and adds up the hashes of their texts.
type sum struct{ rows, checksum uint64 }

func sumOf(o *contracts.Observations, from floor) (s sum) {
	var b []byte
	for i := range o.Observations {
		if !from.keeps(&o.Observations[i]) {
			continue
		}
		for j := range o.Observations[i].Rows() {
			b = appendRow(b[:0], string(o.Site), i, j, &o.Observations[i])
			s.rows++
			s.checksum += xxhash.Sum64(b)
		}
	}
	return s
}

// content reads every event of the stream again and compares its rows.
func (a *Auditor) content(ctx context.Context, slices []slice) error {
	if !a.cfg.Content {
		return nil
	}
	state, err := a.cfg.Streams.State(ctx, event.StreamObservations)
	if err != nil {
		return err
	}
	var at position
	var is sum
	for i, s := range slices {
		a.cfg.Progress(AuditProgress{"content", uint64(i), uint64(len(slices))})
		held := map[uint64]sum{} // by sequence in the current stream
		positions := map[uint64]position{}
		first, last := uint64(0), uint64(0)
		err := a.read(ctx, "audit_content", a.was.floor.of(s.args()),
			clickhouse.Row{"epoch": &at.epoch, "seq": &at.seq, "n": &is.rows, "checksum": &is.checksum}, func() {
				if !present(state, at) {
					a.out.NotCompared++
					return
				}
				held[at.seq], positions[at.seq] = is, at
				if first == 0 || at.seq < first {
					first = at.seq
				}
				last = max(last, at.seq)
			}, "{text}", rowText)
		if err != nil {
			return err
		}
		if len(held) == 0 {
			continue
		}
		for m, err := range a.cfg.Streams.Read(ctx, event.ReadRequest{Stream: event.StreamObservations, First: first, Last: last, Bodies: true}) {
			if err != nil {
				return err
			}
			have, ok := held[m.Seq]
			if !ok {
				continue
			}
			delete(held, m.Seq)
			if _, ok := a.wrong[positions[m.Seq]]; ok {
				continue // already reported
			}
			a.out.Compared++
			if err := a.compare(ctx, m, positions[m.Seq], have); err != nil {
				return err
			}
		}
		a.out.NotCompared += uint64(len(held))
	}
	return nil
}

// present reports whether a position belongs to the current stream.
func present(s event.StreamState, at position) bool {
	return at.epoch <= s.Epoch && at.seq != 0 && s.Same(at.epoch, at.seq) == at.seq
}

// compare reports how an event and its rows differ.
func (a *Auditor) compare(ctx context.Context, m event.Stored, at position, have sum) error {
	f := Finding{What: Differs, Where: "observations", Epoch: at.epoch, First: at.seq, Last: at.seq, Count: have.rows}
	e, err := event.Decode(m.Data)
	if err != nil {
		a.found.find(f, "the event of these rows cannot be read: "+err.Error())
		return nil
	}
	o, ok := e.Data.(*contracts.Observations)
	if !ok {
		a.found.find(f, fmt.Sprintf("the message there is a %s", e.Kind))
		return nil
	}
	if sumOf(o, a.was.floor) == have {
		return nil
	}
	var text string
	var held, due []string
	err = a.read(ctx, "audit_texts", a.was.floor.of(args{"epoch": at.epoch, "seq": at.seq}), clickhouse.Row{"text": &text}, func() {
		held = append(held, text)
	}, "{text}", rowText)
	if err != nil {
		return err
	}
	for i := range o.Observations {
		if !a.was.floor.keeps(&o.Observations[i]) {
			continue
		}
		for j := range o.Observations[i].Rows() {
			due = append(due, string(appendRow(nil, string(o.Site), i, j, &o.Observations[i])))
		}
	}
	rows, columns := difference(due, held)
	f.Count = rows
	a.found.find(f, "they differ from event "+e.ID+" in "+strings.Join(columns, ", "))
	return nil
}

// difference counts the rows that are not the same, and returns the names of
// the columns in which they differ. Both lists are in order.
func difference(due, held []string) (rows uint64, columns []string) {
	differ := map[string]bool{}
	for i := range max(len(due), len(held)) {
		if i < len(due) && i < len(held) && due[i] == held[i] {
			continue
		}
		rows++
		if i >= len(due) || i >= len(held) {
			differ["their number"] = true
			continue
		}
		d, h := strings.Split(due[i], separator), strings.Split(held[i], separator)
		for k, name := range rowColumns {
			if k >= len(d) || k >= len(h) || d[k] != h[k] {
				differ[name] = true
			}
		}
	}
	for _, name := range slices.Concat(rowColumns, []string{"their number"}) {
		if differ[name] {
			columns = append(columns, name)
		}
	}
	return rows, columns
}
