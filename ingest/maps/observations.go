package maps

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// rowsInMemory is how many rows are held at most to be sorted: those of loose
// pairs (see pair), with bytesInMemory of texts. If a file has more, it is read
// in several rounds, each of which sorts a share of the pairs. A single pair is
// never divided.
const (
	rowsInMemory  = 400_000
	bytesInMemory = 256 << 20
)

// observationsOpen is how many observations at most wait for their batch to
// fill.
const observationsOpen = 50_000

// batchBytes is the room for observations in an event.
const batchBytes = event.MaxBytes - 4096

// Producer is the producer's name in the events of imports.
const Producer = "preismon import"

// sender groups rows into observations and observations into batches.
type sender struct {
	*importer
	ctx     context.Context
	current group
	rows    []row
	kept    []*row   // of these: the observation being built
	batches []*batch // by site
	open    int
	scratch []byte
}

// batch holds the observations of one site that wait to be published.
type batch struct {
	site  *site
	obs   []contracts.Observation
	bytes int
}

// publishObservations is the second pass.
func (im *importer) publishObservations(ctx context.Context) error {
	loose, rounds := im.book.rounds(im.limit)
	im.sum.SortedRows = loose
	im.book.tally = nil // its warnings have been counted
	out := &sender{importer: im, ctx: ctx, batches: make([]*batch, len(im.book.ordered))}
	for i, s := range im.book.ordered {
		out.batches[i] = &batch{site: s}
	}
	for round := range rounds {
		if err := out.round(round, rounds); err != nil {
			return err
		}
	}
	for _, b := range out.batches {
		if err := out.flush(b); err != nil {
			return err
		}
	}
	return nil
}

// round reads the file once: the first round sends what is already grouped, and
// every round sorts and sends its share of the loose pairs.
func (s *sender) round(round, rounds int) error {
	in, err := s.importer.open(s.ctx, 2, round, rounds)
	if err != nil {
		return err
	}
	defer in.close()
	var held []row
	var r row
	for rec, err := range in.all() {
		if err != nil {
			return err
		}
		if rec.bad != nil || s.book.parse(in.cols, rec, &r) != nil {
			continue // rejected by the first pass
		}
		if r.product.site.index >= len(s.batches) {
			return errChanged
		}
		switch p := r.product.pair; {
		case p.loose:
			if uint64(p.item.ItemID)%uint64(rounds) == uint64(round) {
				r.own()
				held = append(held, r)
			}
		case round == 0:
			r.own()
			if err := s.add(&r); err != nil {
				return err
			}
		}
	}
	if in.rows != s.importer.sum.Rows {
		return errChanged
	}
	slices.SortFunc(held, func(a, b row) int {
		p, q := a.product.pair, b.product.pair
		return cmp.Or(cmp.Compare(p.site.index, q.site.index), cmp.Compare(p.item.index, q.item.index),
			cmp.Compare(a.ms, b.ms), cmp.Compare(a.line, b.line))
	})
	for i := range held {
		if err := s.add(&held[i]); err != nil {
			return err
		}
	}
	return s.close()
}

// add adds one row; rows of one capture come one after another.
func (s *sender) add(r *row) error {
	if g := (group{r.product.pair, r.ms}); g != s.current || len(s.rows) == 0 {
		if err := s.close(); err != nil {
			return err
		}
		s.current = g
	}
	for i := range s.rows {
		if s.rows[i].said == r.said {
			s.refuse(r, sameRow, "exact duplicate of line %d", s.rows[i].line)
			return nil
		}
	}
	if len(s.rows) == contracts.MaxOffersPerObservation {
		s.refuse(r, manyOffers, "more than %d offers in one capture", contracts.MaxOffersPerObservation)
		return nil
	}
	s.rows = append(s.rows, *r)
	return nil
}

// refuse rejects a row because of other rows of its capture.
func (s *sender) refuse(r *row, why *cause, format string, args ...any) {
	bad := reject(r.line, why, format, args...)
	price := "no price"
	if r.price >= 0 {
		price = contracts.Money{AmountMinor: r.price, CurrencyCode: r.currency}.String()
	}
	bad.Text = excerpt([]string{string(r.product.site.Site.Site), r.product.key, time.UnixMilli(r.ms).UTC().Format(time.RFC3339), r.merchant, price}, " | ")
	s.tally.reject(*bad)
}

// close builds the observation from the rows collected.
func (s *sender) close() error {
	if len(s.rows) == 0 {
		return nil
	}
	defer func() { s.rows = s.rows[:0] }()

	// One observation has one outcome: the best one among its rows.
	outcome := s.rows[0].state
	for i := range s.rows {
		outcome = min(outcome, s.rows[i].state)
	}
	obs := contracts.Observation{ItemID: s.current.pair.item.ItemID, CapturedAt: time.UnixMilli(s.current.ms).UTC()}
	size := observationBytes
	var offers []contracts.Offer
	kept := s.kept[:0]
	for i := range s.rows {
		r := &s.rows[i]
		switch {
		case r.state != outcome && r.state == unavailable:
			s.refuse(r, unavailableAmong, "unavailable, while other rows of the same capture are offers; a capture has one outcome")
			continue
		case r.state != outcome:
			s.refuse(r, nothingAmong, "neither price nor availability, while other rows of the same capture have them; a capture has one outcome")
			continue
		case outcome == unknown && len(kept) > 0:
			s.refuse(r, nothingAmong, "neither price nor availability, like another row of the same capture")
			continue
		}
		n := r.bytes()
		if size+n > batchBytes {
			s.refuse(r, manyBytes, "the offers of its capture together exceed what one event holds")
			continue
		}
		size += n
		kept = append(kept, r)
		if outcome != unknown {
			if offers == nil {
				offers = make([]contracts.Offer, 0, len(s.rows))
			}
			offers = append(offers, r.offer())
		}
	}
	obs.Outcome = []contracts.Outcome{offered: contracts.PriceObserved, unavailable: contracts.Unavailable, unknown: contracts.OutcomeUnknown}[outcome]
	if outcome != unavailable || len(offers) != 1 || offers[0] != (contracts.Offer{}) {
		obs.Offers = offers
	}

	s.kept = kept

	earlier, err := s.knownAt(s.current.pair.site)
	if err != nil {
		return err
	}
	if !s.unknown(earlier, &obs, kept) {
		return nil
	}

	earlier.add(&obs)
	s.sum.Accepted += obs.Rows()
	s.sum.Observations++
	s.sum.Offers += len(obs.Offers)
	s.sum.Outcomes[obs.Outcome.String()]++
	if len(obs.Offers) > 1 {
		s.sum.SeveralOffers++
	}

	b := s.batches[s.current.pair.site.index]
	b.site.obs++
	if len(b.obs) == contracts.MaxObservationsPerBatch || b.bytes+size > batchBytes {
		if err := s.flush(b); err != nil {
			return err
		}
	}
	b.obs = append(b.obs, obs)
	b.bytes += size
	s.open++
	if s.open > observationsOpen {
		return s.flush(slices.MaxFunc(s.batches, func(a, b *batch) int { return cmp.Compare(len(a.obs), len(b.obs)) }))
	}
	return nil
}

// unknown keeps in an observation only what earlier imports did not publish,
// and rejects what contradicts them; false: nothing is left.
func (s *sender) unknown(earlier *known, obs *contracts.Observation, of []*row) bool {
	offers := obs.Offers[:0]
	left := false
	for i, verdict := range earlier.judge(obs) {
		switch {
		case verdict == isKnown:
			s.sum.Accepted++
			s.sum.Known++
		case verdict == isOther && !s.AddConflicts:
			s.refuse(of[i], otherwiseKnown, "an earlier import says something else about this product at this time")
		default:
			left = true
			if len(obs.Offers) > 0 {
				offers = append(offers, obs.Offers[i])
			}
		}
	}
	obs.Offers = offers
	return left
}

// offer returns the row as an offer.
func (r *row) offer() contracts.Offer {
	o := contracts.Offer{
		Merchant: r.merchant, IsPrime: r.prime, IsBuyBox: r.buyBox, Rating: contracts.Rating(r.rating),
		Manufacturer: r.maker, Title: r.title, URL: r.url, DeliveryText: r.delivery,
	}
	if r.price >= 0 || r.shipping >= 0 {
		amounts := [2]int64{r.price, r.shipping} // a copy, so as not to keep the row
		if r.price >= 0 {
			o.Price = &amounts[0]
		}
		if r.shipping >= 0 {
			o.Shipping = &amounts[1]
		}
		o.CurrencyCode = r.currency
	}
	return o
}

// Upper bounds for the JSON of an observation and of an offer, without texts.
const (
	observationBytes = 160
	offerBytes       = 320
)

// bytes returns an upper bound for the JSON of the row's offer.
func (r *row) bytes() int {
	return offerBytes + escaped(r.merchant) + escaped(r.rating) + escaped(r.maker) + escaped(r.title) + escaped(r.url) + escaped(r.delivery)
}

// escaped returns an upper bound for the bytes of a text in JSON.
func escaped(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			n++
		case c < ' ', c == '<', c == '>', c == '&', c == 0x7f:
			n += 5
		case c == 0xe2: // may begin U+2028 or U+2029
			n += 3
		}
	}
	return n
}

// flush publishes a batch. Its id is derived from its content, so that another
// run, hours or years later, results in the same id.
func (s *sender) flush(b *batch) error {
	if len(b.obs) == 0 {
		return nil
	}
	data := &contracts.Observations{Site: b.site.Site.Site, Run: cut("import "+s.Mapping.Source, 128), Observations: b.obs}
	s.open -= len(b.obs)
	b.obs, b.bytes = nil, 0
	s.sum.Batches++
	if s.publish == nil {
		return nil
	}
	s.scratch = appendBatch(s.scratch[:0], s.Mapping.Source, data)
	return s.importer.send(s.ctx, &event.Event{
		ID: uuidOf(sha256.Sum256(s.scratch)), Kind: event.KindObservations, Producer: Producer, ProducedAt: s.now, Data: data,
	})
}

func (im *importer) send(ctx context.Context, e *event.Event) error {
	if err := im.publish(ctx, e); err != nil {
		return fmt.Errorf("publish %s: %w", e.Kind, err)
	}
	im.sum.Events++
	return nil
}
