package query_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// shifting is a shelf whose account changes while its rows are read: it is
// first until a time has passed, and then other.
type shifting struct {
	shelf
	first, other query.Access
	until        time.Duration
	pace         time.Duration // between blocks
	began        time.Time
	asked        int // reads of the account
}

func (s *shifting) Access(context.Context, contracts.AccountID) (*query.Access, error) {
	if s.asked++; s.asked == 1 {
		s.began = time.Now()
	}
	if time.Since(s.began) > s.until {
		return &s.other, nil
	}
	return &s.first, nil
}

func (s *shifting) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	defer time.Sleep(s.pace)
	return s.shelf.Results(ctx, v, q, func(b *query.Block) error {
		time.Sleep(s.pace)
		return each(b)
	})
}

// taken counts the rows of a stream.
type taken struct{ starts, rows int }

func (k *taken) Holds() int64                  { return 0 }
func (k *taken) Start(string) error            { k.starts++; return nil }
func (k *taken) Send(_ []byte, rows int) error { k.rows += rows; return nil }

func sees(version uint64, applied bool, orders ...contracts.OrderID) query.Access {
	return query.Access{Account: 1, Permissions: contracts.Permissions(), Watermark: query.Watermark{Epoch: 1, Seq: 1}, Visibility: query.Visibility{
		Mandate: 1, Versions: []uint64{version}, Applied: applied,
		Scope: contracts.AccountScope{AllOrders: len(orders) == 0, Orders: orders, AllSites: true},
	}}
}

// TestStreamOfAnotherScope: a stream whose caller may see something else at its
// end than at its start is not complete, and does not end as if it were.
func TestStreamOfAnotherScope(t *testing.T) {
	disabled, unpermitted := sees(1, true), sees(1, true)
	disabled.Disabled, unpermitted.Permissions = true, nil
	for name, c := range map[string]struct {
		first, other query.Access
		kind         fault.Kind
	}{
		"the same":               {sees(1, true), sees(1, true), 0},
		"applied since":          {sees(1, false), sees(1, true), 0},
		"another version":        {sees(1, true), sees(2, true), fault.Unavailable},
		"no longer applied":      {sees(1, true), sees(1, false), fault.Unavailable},
		"narrowed to an order":   {sees(1, true), sees(1, true, 7), fault.Unavailable},
		"disabled":               {sees(1, true), disabled, fault.Unauthenticated},
		"without the permission": {sees(1, true), unpermitted, fault.Forbidden},
	} {
		for _, rows := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				s := &shifting{shelf: shelf{rows: shelfOf(rows)}, first: c.first, other: c.other, pace: time.Millisecond}
				service := must.Get(query.New(config(), s, time.Now))(t)
				var got taken
				err := service.StreamResults(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{Site: "a"}, &got)
				if fault.KindOf(err) != c.kind || (err == nil) != (c.kind == 0) || got.rows != rows {
					t.Errorf("%s: %d rows of %d, %v; want kind %v", name, got.rows, rows, err, c.kind)
				}
			})
		}
	}
}

// TestLongStreamRechecksItsScope: a stream notices a changed scope within seconds,
// long before the pairs of its first scope are deleted, and reads the scope no
// more often than that.
func TestLongStreamRechecksItsScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shifting{shelf: shelf{rows: shelfOf(500)}, first: sees(1, true), other: sees(2, true), until: time.Hour, pace: time.Second / 10}
		service := must.Get(query.New(config(), s, time.Now))(t)
		read := func() (got taken, err error) {
			s.asked = 0
			err = service.StreamResults(t.Context(), query.Principal{Account: 1}, query.ResultsRequest{Site: "a"}, &got)
			return got, err
		}
		if got, err := read(); err != nil || got.rows != 500 || s.asked > 7 { // at the start, in ten seconds, and at the end
			t.Errorf("undisturbed: %d rows, %v, asked %d times", got.rows, err, s.asked)
		}
		s.until = 5 * time.Second
		if got, err := read(); fault.KindOf(err) != fault.Unavailable || got.rows < 250 || got.rows > 350 {
			t.Errorf("another scope after 250 rows: %d rows, %v", got.rows, err)
		}
		s.until, s.pace = time.Second, 3*time.Second
		if got, err := read(); fault.KindOf(err) != fault.Unavailable || got.rows != 0 {
			t.Errorf("another scope before the first block: %d rows, %v", got.rows, err)
		}
	})
}

func shelfOf(rows int) (all []shelfRow) {
	for i := range rows {
		all = append(all, shelfRow{item: uint64(i + 1), site: "a", outcome: contracts.Unavailable})
	}
	return all
}

func TestHardBudgetIsBounded(t *testing.T) {
	cfg := config()
	if cfg.HardBudget = query.MaxHardBudget; cfg.Validate() != nil {
		t.Errorf("%s is refused: %v", cfg.HardBudget, cfg.Validate())
	}
	if cfg.HardBudget++; cfg.Validate() == nil {
		t.Errorf("%s is not refused", cfg.HardBudget)
	}
}
