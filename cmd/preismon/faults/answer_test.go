package faults_test

import (
	"time"
)

// result is the part of a row that is read.
type result struct {
	ItemID     string    `json:"itemId"`
	Site       string    `json:"site"`
	CapturedAt time.Time `json:"capturedAt"`
	PriceMoney struct {
		AmountMinor int64 `json:"amountMinor"`
	} `json:"priceMoney"`
	Merchant string `json:"merchant"`
}

// answer collects the rows of one read and finds what is wrong with them.
type answer struct {
	reader *reader
	rows   map[int64]*fact
	before map[int64]*fact // seen before the read began
	sentAt time.Time       // when the current request was sent
}

func (r *reader) begin() *answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &answer{reader: r, sentAt: time.Now(), rows: map[int64]*fact{}, before: make(map[int64]*fact, len(r.seen))}
	for k, f := range r.seen {
		a.before[k] = f
	}
	return a
}

func (a *answer) add(row *result) error {
	f := a.reader.ledger.known(row.PriceMoney.AmountMinor)
	switch {
	case f == nil:
		return wrong("I3", "a row that nobody sent: %+v", *row)
	case f.item.String() != row.ItemID || string(f.site) != row.Site || f.at != row.CapturedAt.UnixMilli() || f.merchant != row.Merchant:
		return wrong("I3", "the row %+v was sent as %+v", *row, *f)
	case !sees(a.reader.mandate, f) && !(mayGet(a.reader.mandate, f) && a.reader.grants.within(a.sentAt)):
		return wrong("I4", "a row outside the scope: %+v", *row)
	case a.rows[f.price] != nil:
		return wrong("I2", "a row twice in one answer: %+v", *row)
	}
	a.rows[f.price] = f
	return nil
}

// whole checks an answer that claims to be complete: every row that was there
// before is still there.
func (a *answer) whole() (map[int64]*fact, error) {
	missing, example := 0, (*fact)(nil)
	since := a.reader.since.Load()
	for k, f := range a.before {
		if a.rows[k] == nil && f.at >= since {
			missing, example = missing+1, f
		}
	}
	if missing > 0 {
		return nil, wrong("I5", "a complete answer of %d rows lacks %d that an earlier one had, such as %+v", len(a.rows), missing, *example)
	}
	a.reader.mu.Lock()
	defer a.reader.mu.Unlock()
	if a.reader.since.Load() == since {
		for k, f := range a.rows {
			if sees(a.reader.mandate, f) {
				a.reader.seen[k] = f
			}
		}
	}
	return a.rows, nil
}
