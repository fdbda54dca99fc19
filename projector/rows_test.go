package projector_test

import (
	"database/sql"
	"fmt"
	"maps"

	_ "github.com/ClickHouse/clickhouse-go/v2" // reads back what ch-go wrote

	"preismon/deploy/testserver/must"
)

// key identifies a row; mandate is 0 outside observations_by_mandate.
type key struct {
	Mandate        uint64
	Epoch          uint32
	Seq            uint64
	Capture, Offer uint16
}

type row struct {
	Item                               uint64
	Site                               string
	At                                 int64
	Outcome                            string
	Currency                           string
	Price, Shipping                    int64
	Merchant                           string
	Prime, BuyBox, Rating              uint8
	Manufacturer, Title, URL, Delivery string
	Copies                             int // 1; more: doubled
}

const rowColumns = `item, site, toUnixTimestamp64Milli(captured_at), toString(outcome), currency, price_minor, shipping_minor, merchant,
	is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text`

func (r *row) fields() []any {
	return []any{
		&r.Item, &r.Site, &r.At, &r.Outcome, &r.Currency, &r.Price, &r.Shipping, &r.Merchant, &r.Prime, &r.BuyBox, &r.Rating,
		&r.Manufacturer, &r.Title, &r.URL, &r.Delivery,
	}
}

func (w *world) each(q string, scan func(*sql.Rows) error) {
	w.t.Helper()
	rows, err := w.db.Query(q)
	if err != nil {
		w.t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	for rows.Next() {
		must.Do(w.t, scan(rows))
	}
	must.Do(w.t, rows.Err())
}

func (w *world) tableRows(table string, mandates int) map[key]row {
	w.t.Helper()
	m := "toUInt64(0)"
	if mandates > 0 {
		m = "mandate"
	}
	out := map[key]row{}
	w.each("SELECT "+m+", epoch, seq, capture, offer, "+rowColumns+" FROM "+table, func(rows *sql.Rows) error {
		var k key
		var r row
		err := rows.Scan(append([]any{&k.Mandate, &k.Epoch, &k.Seq, &k.Capture, &k.Offer}, r.fields()...)...)
		r.Copies = out[k].Copies + 1
		out[k] = r
		return err
	})
	return out
}

func (w *world) latestRows() map[key]row {
	w.t.Helper()
	out := map[key]row{}
	w.each(`SELECT toUInt64(0), epoch, seq, capture, offer, `+rowColumns+` FROM latest_observations FINAL
		ARRAY JOIN offer, currency, price_minor, shipping_minor, merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text`,
		func(rows *sql.Rows) error {
			var k key
			var r row
			err := rows.Scan(append([]any{&k.Mandate, &k.Epoch, &k.Seq, &k.Capture, &k.Offer}, r.fields()...)...)
			r.Copies = out[k].Copies + 1
			out[k] = r
			return err
		})
	return out
}

type ingested struct {
	Seq      uint64
	Captures uint16
	Rows     uint32
	Copies   int
}

func (w *world) ingestedRows() map[string]ingested {
	out := map[string]ingested{}
	w.each("SELECT toString(event_id), seq, captures, rows FROM ingested_events", func(rows *sql.Rows) error {
		var id string
		var e ingested
		err := rows.Scan(&id, &e.Seq, &e.Captures, &e.Rows)
		e.Copies = out[id].Copies + 1
		out[id] = e
		return err
	})
	return out
}

type mandatePair struct {
	Item uint64
	Site string
}

func (w *world) scopeRows() map[uint64]map[mandatePair][]uint64 {
	out := map[uint64]map[mandatePair][]uint64{}
	w.each("SELECT mandate, pairs FROM scopes FINAL", func(rows *sql.Rows) error {
		var m, n uint64
		err := rows.Scan(&m, &n)
		out[m] = map[mandatePair][]uint64{}
		return err
	})
	w.each(`SELECT mandate, item, site, orders FROM scope_pairs WHERE (mandate, version) IN (SELECT mandate, max(version) FROM scopes GROUP BY mandate)`,
		func(rows *sql.Rows) error {
			var m uint64
			var k mandatePair
			var orders []uint64
			if err := rows.Scan(&m, &k.Item, &k.Site, &orders); err != nil {
				return err
			}
			if _, ok := out[m][k]; ok {
				return fmt.Errorf("pair %v of mandate %d is doubled", k, m)
			}
			out[m][k] = orders
			return nil
		})
	maps.DeleteFunc(out, func(_ uint64, s map[mandatePair][]uint64) bool { return len(s) == 0 })
	return out
}
