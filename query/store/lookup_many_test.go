package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestLookupOfMany sends as many identifiers as a request accepts, of every
// kind, known and unknown, of others, and repeated: each is answered in its
// place. One more is refused.
func TestLookupOfMany(t *testing.T) {
	w := newWorld(t, 181, 0)
	const (
		first, items = 100_000, 6_000
		seen, others = 3_000, 5_000 // the first are visible; from others on they belong to another mandate
	)
	w.exec(`INSERT INTO items SELECT ? + number, concat('4', leftPad(toString(number), 12, '0')), concat('2', leftPad(toString(number), 7, '0')), concat('B', leftPad(toString(number), 9, '0')), 'de', 'x', '', '', 1
		FROM numbers(?)`, uint64(first), uint64(items))
	w.exec("INSERT INTO scope_pairs SELECT 2, 8, ? + number, 'alpha.example', [201] FROM numbers(?)", uint64(first), uint64(others))
	w.exec("INSERT INTO scopes VALUES (2, 8, ?, ?)", uint64(others), uint64(others))
	w.exec("INSERT INTO scopes_applied VALUES (2, 0, 8)")
	w.exec(`INSERT INTO latest_observations (item, site, captured_at, epoch, seq, capture, outcome, offer, currency, price_minor, shipping_minor,
			merchant, is_prime, is_buy_box, rating_tenths, manufacturer, title, url, delivery_text)
		SELECT ? + number, 'alpha.example', fromUnixTimestamp64Milli(?, 'UTC'), ?, number + 1, 0, 'priceObserved', [0], ['EUR'], [toInt64(number)], [-1], [''], [0], [0], [255], [''], [''], [''], ['']
		FROM numbers(?) WHERE number < ? OR number >= ?`, uint64(first), w.now.Add(-time.Hour).UnixMilli(), uint32(epoch), uint64(items), uint64(seen), uint64(others))
	w.setMark(items)
	r := rand.New(rand.NewPCG(10, 6))
	keys := make([]query.LookupKey, query.MaxLookups)
	numbers := make([]int, len(keys)) // of the items that they would name
	kinds := map[string]int{}
	for i := range keys {
		n := r.IntN(items + 2_000) // the last ones name nothing
		numbers[i] = n
		switch r.IntN(4) {
		case 0:
			keys[i].EAN = fmt.Sprintf("4%012d", n)
		case 1:
			keys[i].PZN = fmt.Sprintf("2%07d", n)
		case 2:
			keys[i].ASIN, keys[i].ASINLocale = fmt.Sprintf("B%09d", n), "de"
		default:
			keys[i].ItemID = contracts.ItemID(first + n)
		}
	}
	began := time.Now()
	got, echo, err := w.lookup(accountOther, keys)
	must.Do(t, err)
	t.Logf("%d identifiers in %s", len(keys), time.Since(began))
	if len(got) != len(keys) || echo.Asked != len(keys) {
		t.Fatalf("%d answers, %+v", len(got), echo)
	}
	known, sawn := 0, 0
	for i, e := range got {
		n := numbers[i]
		isKnown, isSeen := n < others, n < seen
		kind := "unknown"
		switch {
		case isSeen:
			kind = "seen"
			sawn++
		case isKnown:
			kind = "not seen"
		case n < items:
			kind = "of others"
		}
		if isKnown {
			known++
		}
		kinds[kind]++
		id := fmt.Sprint(first + n)
		switch {
		case e.Asked != keys[i], e.Known != isKnown, e.Seen != isSeen, len(e.Items) != len(e.Latest)+len(e.NoResult):
		case isKnown && (len(e.Items) != 1 || e.Items[0] != id):
		case isSeen && (e.Latest[0].ItemID != id || e.Latest[0].Site != "alpha.example" || *e.Latest[0].Price != float64(n)/100):
		case isKnown && !isSeen && (e.NoResult[0].ItemID != id || e.NoResult[0].Site != "alpha.example"):
		default:
			continue
		}
		t.Fatalf("%d, %s: asked %+v, got %+v", i, kind, keys[i], e)
	}
	if echo.Known != known || echo.Seen != sawn {
		t.Errorf("%+v, want %d known and %d seen", echo, known, sawn)
	}
	for _, kind := range []string{"seen", "not seen", "of others", "unknown"} {
		if kinds[kind] < 500 {
			t.Errorf("only %d are %s", kinds[kind], kind)
		}
	}
	_, _, err = w.lookup(accountOther, append(keys, keys[0]))
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), "10001 identifiers, 1 to 10000 are allowed") {
		t.Errorf("one more: %v", err)
	}
}
