package rest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
)

// serveFields has one item, and sites of every kind of facts, all visible to
// account 1.
func serveFields(t *testing.T) *live {
	l := serveLive(t)
	l.mark()
	l.account(1, 1, "", "")
	l.account(2, 2, "", "")
	l.exec("INSERT INTO items VALUES (1, '', '', '', '', 'x', '', 'Master maker', 1)")
	l.exec(`INSERT INTO sites VALUES
		('market-de.example', 'x', 'marketplace', 'DE', 'EUR', 'Operator', true, false, 1), ('market-at.example', 'x', 'marketplace', 'AT', 'EUR', 'Operator', true, false, 1),
		('market-all.example', 'x', 'marketplace', 'DE', 'EUR', 'Operator', false, false, 1), -- an aggregated list of the same operator
		('compare-de.example', 'x', 'platform', 'DE', 'EUR', '', false, true, 1), ('compare-at.example', 'x', 'platform', 'AT', 'EUR', '', false, true, 1),
		('shop.example', 'x', 'shop', 'DE', 'EUR', '', false, false, 1)`)
	const pairs = "SELECT toUInt64(1) AS item, arrayJoin(['market-de.example','market-at.example','market-all.example','compare-de.example','compare-at.example','shop.example','unknown.example']) AS site, [toUInt64(7)] AS orders"
	l.scope(1, 1, pairs)
	l.scope(2, 1, pairs)
	return l
}

func (l *live) rows(t *testing.T, args string) []map[string]any {
	t.Helper()
	a := l.get("/v1/results?"+args, l.token(1)).want(t, 200)
	return decode[page](t, a).Data
}

// Prime and buy box are in the rows of canonical country markets, each
// independently, true as well as false, and absent where they were not
// observed; ratings are at the German comparison platform, if they are in
// range: FLD-02a, FLD-02b, FLD-02c, FLD-02d, FLD-03a, FLD-03b, FLD-03c,
// FLD-04a, FLD-04b, FLD-04c, FLD-04d, FLD-04e.
func TestObservedFlagsAndRatings(t *testing.T) {
	t.Parallel()
	l := serveFields(t)
	sites := []string{"market-de.example", "market-at.example", "market-all.example", "compare-de.example", "compare-at.example", "shop.example", "unknown.example"}
	seq := 0
	type want struct {
		prime, buyBox any
		rating        any
	}
	wanted := map[string]want{} // by the price of the row, which identifies it
	ratings := []int{0, 1, 43, 50, 255}
	for _, site := range sites {
		l.queue(l.row("numbers(45)", map[string]string{
			"site": "'" + site + "'", "seq": fmt.Sprintf("number + %d", seq+1), "price_minor": fmt.Sprintf("toInt64(number + %d)", seq+1),
			"is_prime": "toUInt8(intDiv(number, 15))", "is_buy_box": "toUInt8(intDiv(number, 5) % 3)", "rating_tenths": "toUInt8([0, 1, 43, 50, 255][number % 5 + 1])",
		}))
		for prime := range 3 {
			for buyBox := range 3 {
				for _, rating := range ratings {
					seq++
					var w want
					flags := []any{nil, false, true} // absent, false, true
					if site == "market-de.example" || site == "market-at.example" {
						w.prime, w.buyBox = flags[prime], flags[buyBox]
					}
					if site == "compare-de.example" && rating != 255 {
						w.rating = map[string]any{"value": float64(rating) / 10, "scale": 5.0}
					}
					wanted[fmt.Sprint(seq)] = w
				}
			}
		}
	}
	l.send(1)
	rows := l.rows(t, "limit=10000&includeExportFields=true")
	if len(rows) != seq {
		t.Fatalf("%d rows, want %d", len(rows), seq)
	}
	for _, row := range rows {
		name := fmt.Sprint(row["priceMoney"].(map[string]any)["amountMinor"])
		got := want{row["isPrime"], row["isBuyBox"], row["productRating"]}
		if diff := cmp.Diff(wanted[name], got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s %s: %s", row["site"], name, diff)
		}
		for field, value := range map[string]any{"isPrime": got.prime, "isBuyBox": got.buyBox, "productRating": got.rating} {
			if _, there := row[field]; there != (value != nil) {
				t.Errorf("%s is there without a value: %v", field, row)
			}
		}
	}
	for _, row := range l.rows(t, "limit=10000") { // the group is off
		for _, field := range []string{"isPrime", "isBuyBox", "productRating", "customerReferencePrices", "referencePrice"} {
			if _, there := row[field]; there {
				t.Fatalf("%s without its group: %v", field, row)
			}
		}
	}
	// The filters follow the same rules: a flag that is not shown matches
	// neither value.
	for _, flag := range []string{"isPrime", "isBuyBox"} { // RES-P06b
		for _, value := range []string{"true", "false"} {
			got := l.rows(t, "limit=10000&includeExportFields=true&"+flag+"="+value)
			if len(got) != 2*3*5 {
				t.Errorf("%s=%s: %d rows", flag, value, len(got))
			}
			for _, row := range got {
				if fmt.Sprint(row[flag]) != value {
					t.Fatalf("%s=%s gives %v", flag, value, row)
				}
			}
		}
	}
	// Manufacturer and merchant match what was observed, not master data:
	// RES-P05b.
	for args, want := range map[string]int{
		"manufacturer=Observed%20maker": seq, "manufacturer=Master%20maker": 0, "manufacturer=observed%20maker": 0, "manufacturer=Observed": 0,
		"merchant=Merchant": seq, "merchant=merchant": 0, "merchant=x": 0, "manufacturer=Observed%20maker&merchant=Merchant": seq,
	} {
		equals.Is(t, want, len(l.rows(t, "limit=10000&"+args)), "%s rows", args)
	}
}

// Amounts are minor units by ISO 4217: FLD-07a, FLD-07b, FLD-07c.
func TestMoneyOfAllDigits(t *testing.T) {
	t.Parallel()
	l := serveFields(t)
	for i, currency := range []string{"JPY", "EUR", "KWD"} { // 0, 2 and 3 digits
		l.queue(l.row("numbers(1)", map[string]string{
			"seq": fmt.Sprintf("toUInt64(%d)", i+1), "currency": "'" + currency + "'", "price_minor": "toInt64(1234567)", "shipping_minor": "toInt64(5)",
		}))
	}
	l.queue(l.row("numbers(1)", map[string]string{"seq": "toUInt64(9)", "currency": "'USD'", "price_minor": "toInt64(0)", "shipping_minor": "toInt64(0)"}))
	l.send(1)
	l.exec("INSERT INTO reference_prices VALUES (1, 1, [(7, 'JPY', '', '', ''), (7, 'EUR', '', '', ''), (7, 'KWD', '', '', '')], 1)")
	a := l.get("/v1/results?includeExportFields=true&sort=asc", l.token(1))
	for _, want := range []string{
		`"price":1234567,"priceMoney":{"value":1234567,"amountMinor":1234567,"currencyCode":"JPY"}`,
		`"price":12345.67,"priceMoney":{"value":12345.67,"amountMinor":1234567,"currencyCode":"EUR"}`,
		`"price":1234.567,"priceMoney":{"value":1234.567,"amountMinor":1234567,"currencyCode":"KWD"}`,
		`"price":0.00,"priceMoney":{"value":0.00,"amountMinor":0,"currencyCode":"USD"}`,
		`"shippingCostMoney":{"value":0.005,"amountMinor":5,"currencyCode":"KWD"}`,
		`"totalPriceMoney":{"value":1234572,"amountMinor":1234572,"currencyCode":"JPY"}`,
		`"totalPriceMoney":{"value":12345.72,"amountMinor":1234572,"currencyCode":"EUR"}`,
		`"customerReferencePrices":[{"value":7,"amountMinor":7,"currencyCode":"JPY"}],"referencePrice":7,"referencePriceMoney":{"value":7,"amountMinor":7,"currencyCode":"JPY"}`,
		`"customerReferencePrices":[{"value":0.07,"amountMinor":7,"currencyCode":"EUR"}],"referencePrice":0.07`,
		`"customerReferencePrices":[{"value":0.007,"amountMinor":7,"currencyCode":"KWD"}],"referencePrice":0.007`,
		`"customerReferencePrices":[]}`, // there is none in USD
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%s is not in %s", want, a.body)
		}
	}
}

type referenceEntry struct {
	amount                          int64
	currency, site, quantity, price string
}

// public returns the entry as the contract shows it.
func (e referenceEntry) public() map[string]any {
	out := map[string]any{"value": float64(e.amount) / 100, "amountMinor": float64(e.amount), "currencyCode": e.currency}
	for name, value := range map[string]string{"appliesToSite": e.site, "referenceQuantity": e.quantity, "priceType": e.price} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// Reference prices compared with brute force, for random lists of them:
// FLD-05a, FLD-05b, FLD-05c, FLD-05d, FLD-05e, FLD-05f, FLD-06a, FLD-06b,
// FLD-07a, FLD-07b, FLD-07c, FLD-07d, FLD-07e, FLD-07f, FLD-08.
func TestReferencePricesMatchOracle(t *testing.T) {
	t.Parallel()
	l := serveFields(t)
	sites := []string{"shop.example", "market-de.example"}
	for i, site := range sites {
		l.queue(l.row("numbers(1)", map[string]string{"site": "'" + site + "'", "seq": fmt.Sprintf("toUInt64(%d)", i+1)}))
	}
	l.send(1)
	l.exec("INSERT INTO customer_data VALUES (1, 1, 'x', {'referencePrice': '1.23', 'price': '4.56'}, 1)") // FLD-08
	l.exec("INSERT INTO reference_prices VALUES (2, 1, [(999, 'EUR', '', '', 'theirs')], 1)")              // FLD-05b
	r := rand.New(rand.NewPCG(5, 5))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	single, none, several := 0, 0, 0
	for version := 1; version <= effort.Often(25, 40); version++ {
		var entries []referenceEntry
		var tuples []string
		for range r.IntN(7) {
			e := referenceEntry{
				int64(100 + r.IntN(3)), pick("EUR", "EUR", "USD"), pick("", "", sites[0], sites[1], "other.example"), pick("", "1", "10"), pick("", "RRP", "purchase"),
			}
			entries = append(entries, e)
			tuples = append(tuples, fmt.Sprintf("(%d, '%s', '%s', '%s', '%s')", e.amount, e.currency, e.site, e.quantity, e.price))
		}
		l.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (1, 1, [%s], %d)", strings.Join(tuples, ", "), version))
		rows := l.rows(t, "includeExportFields=true&includeCustomerData=true")
		if len(rows) != len(sites) {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			want := []any{}
			for _, exact := range []bool{true, false} {
				for _, e := range entries {
					if e.currency != "EUR" || (e.site == "") == exact || exact && e.site != row["site"] {
						continue
					}
					if shown := e.public(); !slices.ContainsFunc(want, func(w any) bool { return cmp.Equal(w, any(shown)) }) {
						want = append(want, shown)
					}
				}
			}
			if diff := cmp.Diff(any(want), row["customerReferencePrices"]); diff != "" {
				t.Fatalf("%v at %s (-want +got):\n%s", entries, row["site"], diff)
			}
			var price, money any
			switch len(want) {
			case 0:
				none++
			case 1:
				single++
				entry := want[0].(map[string]any)
				price, money = entry["value"], map[string]any{"value": entry["value"], "amountMinor": entry["amountMinor"], "currencyCode": "EUR"}
			default:
				several++
			}
			if !cmp.Equal(price, row["referencePrice"]) || !cmp.Equal(money, row["referencePriceMoney"]) {
				t.Fatalf("%v at %s: referencePrice %v, %v", want, row["site"], row["referencePrice"], row["referencePriceMoney"])
			}
			if got, _ := json.Marshal(row["customerData"]); string(got) != `{"price":"4.56","referencePrice":"1.23"}` {
				t.Fatalf("customer data %s", got)
			}
		}
	}
	if single < 5 || none < 5 || several < 5 {
		t.Errorf("%d single, %d none, %d several: the lists are not random enough", single, none, several)
	}
}

// queue keeps rows until send writes them together.
func (l *live) queue(rows string) { l.queued = append(l.queued, rows) }

func (l *live) send(mandate uint64) {
	l.t.Helper()
	for part := range slices.Chunk(l.queued, 40) {
		l.observe(mandate, strings.Join(part, " UNION ALL "))
	}
	l.queued = nil
}
