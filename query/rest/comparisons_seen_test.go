package rest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
)

// TestComparisonsWithWhatIsNotSeen: a site that the caller does not see, or a merchant
// only of offers that it does not see, compares as one that does not exist,
// although the product is there for another mandate: VIS-02, VIS-05.
func TestComparisonsWithWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	l := serveLive(t)
	l.clock.freeze(l.now)
	l.mark()
	l.exec("INSERT INTO items VALUES (1001, '4000000000011', '', '', '', 'x', 'Brand-own', '', 1)")
	for i, w := range []pairIDs{own, theirs} {
		l.exec("INSERT INTO sites VALUES ('" + w["site"] + "', 'x', 'shop', 'DE', 'EUR', '', true, false, 1)")
		for n, price := range []int{1299, 1199} {
			l.observe(uint64(i+1), l.row("numbers(1)", map[string]string{
				"item": "toUInt64(1001)", "site": "'" + w["site"] + "'", "merchant": "'" + w["merchant"] + "'", "seq": fmt.Sprintf("number + %d", 10*i+n+1),
				"captured_at": l.at(time.Duration(n-3) * time.Hour), "price_minor": fmt.Sprintf("toInt64(%d)", price-200*i),
			}))
		}
		l.scope(uint64(i+1), 1, "SELECT toUInt64(1001) AS item, '"+w["site"]+"' AS site, [toUInt64("+w["order"]+")] AS orders")
	}
	l.account(whole, 1, "", "")
	l.account(stranger, 2, "", "")
	l.announced()
	type compared struct {
		Query struct{ WithoutOwn, WithoutOther int }
	}
	for _, c := range []struct{ route, name string }{
		{"GET /ext/v1/position", "itemId=1001&ownSite={site}"},
		{"GET /ext/v1/position", "itemId=1001&ownMerchant={merchant}"},
		{"GET /ext/v1/movers", "itemId=1001&since=2026-01-01&ownMerchant={merchant}"},
		{"GET /ext/v1/overview", "ownMerchant={merchant}"},
		{"GET /ext/v1/items/{itemId}/summary", "ownMerchant={merchant}"},
	} {
		route := strings.ReplaceAll(c.route, "{itemId}", "1001")
		if strings.HasSuffix(route, "/position") { // it finds what may be seen
			for i, w := range []pairIDs{own, theirs} {
				token := l.token([]contracts.AccountID{whole, stranger}[i])
				if got := decode[compared](t, l.ask(route, w, c.name, token)).Query; got.WithoutOther != 1 || got.WithoutOwn != 0 {
					t.Errorf("%s: %+v", w.fill("", c.name), got)
				}
			}
		}
		sameAnswer(t, c.route+"?"+c.name, theirs, l.ask(route, theirs, c.name, l.token(whole)), l.ask(route, nobodys, c.name, l.token(whole)))
	}
}
