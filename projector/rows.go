package projector

import (
	"fmt"
	"slices"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// notObserved stands for a missing amount.
const notObserved = -1

// block holds the rows of a range of captures as columns, reused from one
// insert to the next. The same columns serve three tables: observations
// unchanged, observations_by_mandate with the mandates of each row as an array
// that the server unfolds, latest_observations with the rows of each capture as
// arrays.
type block struct {
	// One element per row.
	item         proto.ColUInt64
	site         *dict
	capturedAt   proto.ColInt64 // Unix ms
	seq          proto.ColUInt64
	epoch        proto.ColUInt32
	capture      proto.ColUInt16
	offer        proto.ColUInt16
	outcome      proto.ColUInt8
	currency     *dict
	price        proto.ColInt64
	shipping     proto.ColInt64
	merchant     *dict
	isPrime      proto.ColUInt8
	isBuyBox     proto.ColUInt8
	rating       proto.ColUInt8
	manufacturer *dict
	title        text
	url          text
	delivery     *dict

	// The mandates that see each row.
	mandates    proto.ColUInt64
	mandatesEnd proto.ColUInt64

	// One element per capture.
	captures struct {
		item       proto.ColUInt64
		site       *dict
		capturedAt proto.ColInt64
		seq        proto.ColUInt64
		epoch      proto.ColUInt32
		capture    proto.ColUInt16
		outcome    proto.ColUInt8
		end        proto.ColUInt64 // of its rows
	}
}

func newBlock() *block {
	b := &block{site: newDict(), currency: newDict(), merchant: newDict(), manufacturer: newDict(), delivery: newDict()}
	b.captures.site = newDict()
	return b
}

func (b *block) reset() {
	for _, c := range []proto.Resettable{
		&b.item, b.site, &b.capturedAt, &b.seq, &b.epoch, &b.capture, &b.offer, &b.outcome, b.currency, &b.price, &b.shipping,
		b.merchant, &b.isPrime, &b.isBuyBox, &b.rating, b.manufacturer, &b.title, &b.url, b.delivery, &b.mandates, &b.mandatesEnd,
		&b.captures.item, b.captures.site, &b.captures.capturedAt, &b.captures.seq, &b.captures.epoch, &b.captures.capture,
		&b.captures.outcome, &b.captures.end,
	} {
		c.Reset()
	}
}

// reserve allocates room for the rows of the events.
func (b *block) reserve(todo []freshEvent) {
	var rows, captures, titles, urls int
	for i := range todo {
		list := todo[i].data.Observations
		captures += len(list)
		for j := range list {
			rows += list[j].Rows()
			for k := range list[j].Offers {
				titles += 2 + len(list[j].Offers[k].Title)
				urls += 2 + len(list[j].Offers[k].URL)
			}
		}
	}
	for _, c := range []*proto.ColUInt64{&b.item, &b.seq, &b.mandates, &b.mandatesEnd} {
		*c = slices.Grow(*c, rows)
	}
	for _, c := range []*proto.ColInt64{&b.capturedAt, &b.price, &b.shipping} {
		*c = slices.Grow(*c, rows)
	}
	for _, c := range []*proto.ColUInt16{&b.capture, &b.offer} {
		*c = slices.Grow(*c, rows)
	}
	for _, c := range []*proto.ColUInt8{&b.outcome, &b.isPrime, &b.isBuyBox, &b.rating} {
		*c = slices.Grow(*c, rows)
	}
	for _, c := range []*dict{b.site, b.currency, b.merchant, b.manufacturer, b.delivery} {
		c.keys = slices.Grow(c.keys, rows)
	}
	b.epoch = slices.Grow(b.epoch, rows)
	b.title.wire, b.url.wire = slices.Grow(b.title.wire, titles+rows), slices.Grow(b.url.wire, urls+rows)
	c := &b.captures
	for _, col := range []*proto.ColUInt64{&c.item, &c.seq, &c.end} {
		*col = slices.Grow(*col, captures)
	}
	c.capturedAt, c.epoch = slices.Grow(c.capturedAt, captures), slices.Grow(c.epoch, captures)
	c.capture, c.outcome = slices.Grow(c.capture, captures), slices.Grow(c.outcome, captures)
	c.site.keys = slices.Grow(c.site.keys, captures)
}

// rows is the number of rows of observations, fanned that of
// observations_by_mandate.
func (b *block) rows() int   { return len(b.item) }
func (b *block) fanned() int { return len(b.mandates) }

// position is where an event is: the incarnation of its stream, and its sequence.
type position struct {
	epoch uint32
	seq   uint64
}

func (p position) after(o position) bool {
	return p.epoch > o.epoch || p.epoch == o.epoch && p.seq > o.seq
}

// add appends the rows of one capture for the mandates that see it.
func (b *block) add(at position, site string, capture int, o *contracts.Observation, mandates []uint64) {
	if len(o.Offers) == 0 {
		b.addRow(at, site, capture, 0, o, mandates)
	}
	for i := range o.Offers {
		b.addRow(at, site, capture, i, o, mandates)
	}
	c := &b.captures
	c.item.Append(uint64(o.ItemID))
	c.site.Append(site)
	c.capturedAt.Append(o.CapturedAt.UnixMilli())
	c.seq.Append(at.seq)
	c.epoch.Append(at.epoch)
	c.capture.Append(uint16(capture))
	c.outcome.Append(uint8(o.Outcome))
	c.end.Append(uint64(b.rows()))
}

// addRow appends one row: that of an offer, or of the outcome alone.
func (b *block) addRow(at position, site string, capture, offer int, o *contracts.Observation, mandates []uint64) {
	b.item.Append(uint64(o.ItemID))
	b.site.Append(site)
	b.capturedAt.Append(o.CapturedAt.UnixMilli())
	b.seq.Append(at.seq)
	b.epoch.Append(at.epoch)
	b.capture.Append(uint16(capture))
	b.offer.Append(uint16(offer))
	b.outcome.Append(uint8(o.Outcome))
	b.mandates = append(b.mandates, mandates...)
	b.mandatesEnd.Append(uint64(len(b.mandates)))
	if offer < len(o.Offers) {
		b.addOffer(&o.Offers[offer])
	} else {
		b.addOffer(&noOffer)
	}
}

var noOffer contracts.Offer

func (b *block) addOffer(o *contracts.Offer) {
	b.currency.Append(string(o.CurrencyCode))
	b.price.Append(amount(o.Price))
	b.shipping.Append(amount(o.Shipping))
	b.merchant.Append(composed(o.Merchant))
	b.isPrime.Append(uint8(o.IsPrime))
	b.isBuyBox.Append(uint8(o.IsBuyBox))
	b.rating.Append(o.Rating.Tenths())
	b.manufacturer.Append(composed(o.Manufacturer))
	b.title.Append(o.Title)
	b.url.Append(o.URL)
	b.delivery.Append(o.DeliveryText)
}

func amount(v *int64) int64 {
	if v == nil {
		return notObserved
	}
	return *v
}

// observations returns the columns of insert_observations.sql.
func (b *block) observations() proto.Input {
	return proto.Input{
		{Name: "item", Data: &b.item},
		{Name: "site", Data: b.site},
		{Name: "captured_ms", Data: &b.capturedAt},
		{Name: "epoch", Data: &b.epoch},
		{Name: "seq", Data: &b.seq},
		{Name: "capture", Data: &b.capture},
		{Name: "offer", Data: &b.offer},
		{Name: "outcome", Data: &b.outcome},
		{Name: "currency", Data: b.currency},
		{Name: "price_minor", Data: &b.price},
		{Name: "shipping_minor", Data: &b.shipping},
		{Name: "merchant", Data: b.merchant},
		{Name: "is_prime", Data: &b.isPrime},
		{Name: "is_buy_box", Data: &b.isBuyBox},
		{Name: "rating_tenths", Data: &b.rating},
		{Name: "manufacturer", Data: b.manufacturer},
		{Name: "title", Data: &b.title},
		{Name: "url", Data: &b.url},
		{Name: "delivery_text", Data: b.delivery},
	}
}

// byMandate returns the columns of insert_observations_by_mandate.sql.
func (b *block) byMandate() proto.Input {
	return append(proto.Input{{Name: "mandates", Data: array{&b.mandatesEnd, &b.mandates}}}, b.observations()...)
}

// latest returns the columns of insert_latest_observations.sql.
func (b *block) latest() proto.Input {
	c := &b.captures
	of := func(name string, col proto.ColInput) proto.InputColumn {
		return proto.InputColumn{Name: name, Data: array{&c.end, col}}
	}
	return proto.Input{
		{Name: "item", Data: &c.item},
		{Name: "site", Data: c.site},
		{Name: "captured_ms", Data: &c.capturedAt},
		{Name: "epoch", Data: &c.epoch},
		{Name: "seq", Data: &c.seq},
		{Name: "capture", Data: &c.capture},
		{Name: "outcome", Data: &c.outcome},
		of("offer", &b.offer), of("currency", b.currency), of("price_minor", &b.price), of("shipping_minor", &b.shipping),
		of("merchant", b.merchant), of("is_prime", &b.isPrime), of("is_buy_box", &b.isBuyBox), of("rating_tenths", &b.rating),
		of("manufacturer", b.manufacturer), of("title", &b.title), of("url", &b.url), of("delivery_text", b.delivery),
	}
}

// noteIngested adds the event to those that are ingested with the batch.
func (f *pending) noteIngested(a *freshEvent) {
	rows := 0
	for i := range a.data.Observations {
		rows += a.data.Observations[i].Rows()
	}
	f.events.add(a.id, a.at.epoch, a.at.seq, uint16(len(a.data.Observations)), uint32(rows))
}

// noteExpired counts the rows of an event whose captures were already below the
// floor when they arrived, by quarter, and returns their total.
func (f *pending) noteExpired(a *freshEvent) (total uint64) {
	if a.floor == 0 {
		return 0
	}
	rows := map[floor]uint64{}
	for i := range a.data.Observations {
		if o := &a.data.Observations[i]; !a.floor.keeps(o) {
			rows[quarterOf(o.CapturedAt)] += uint64(o.Rows())
		}
	}
	for quarter, n := range rows {
		f.expired.add(a.at.epoch, a.at.seq, int64(quarter), n)
		total += n
	}
	return total
}

// payload returns the observations in a message, and its event's id.
func payload(m *event.Message) (uuid.UUID, *contracts.Observations, error) {
	o, ok := m.Event.Data.(*contracts.Observations)
	if !ok {
		return uuid.Nil, nil, fmt.Errorf("sequence %d: a %s among the observations", m.Seq, m.Event.Kind)
	}
	id, err := uuid.Parse(m.Event.ID)
	if err != nil {
		return uuid.Nil, nil, fmt.Errorf("sequence %d: event id: %w", m.Seq, err)
	}
	return id, o, nil
}
