package rest_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// Accounts of the matrix.
const (
	whole      contracts.AccountID = 1 // all of mandate 1
	part       contracts.AccountID = 2 // only order 702 of mandate 1
	partSites  contracts.AccountID = 3 // only site "own-2.example" of mandate 1
	stranger   contracts.AccountID = 4 // all of mandate 2
	shrunk     contracts.AccountID = 5 // all of mandate 3, from whose scope a pair was revoked
	unassigned contracts.AccountID = 6 // of mandate 1, with nothing assigned
	unscoped   contracts.AccountID = 7 // all of mandate 4, which has no scope
)

// pairIDs holds the ids of one pair, by their kind. All values of a kind have the
// same length, so that answers do not differ by what they echo.
type pairIDs map[string]string

var (
	own     = pairIDs{"item": "1001", "locale": "de", "alias": "Alias-own", "job": "Job-own", "file": "File-own", "site": "own-1.example", "order": "701", "ean": "4000000000011", "pzn": "10000011", "asin": "B000000011", "merchant": "Merchant-own", "brand": "Brand-own", "maker": "Maker-own"}
	ours    = pairIDs{"item": "1002", "locale": "fr", "alias": "Alias-our", "job": "Job-our", "file": "File-our", "site": "own-2.example", "order": "702", "ean": "4000000000028", "pzn": "10000028", "asin": "B000000022", "merchant": "Merchant-our", "brand": "Brand-our", "maker": "Maker-our"}
	theirs  = pairIDs{"item": "2001", "locale": "it", "alias": "Alias-the", "job": "Job-the", "file": "File-the", "site": "for-1.example", "order": "801", "ean": "4000000000035", "pzn": "10000035", "asin": "B000000033", "merchant": "Merchant-the", "brand": "Brand-the", "maker": "Maker-the"}
	lost    = pairIDs{"item": "3001", "locale": "es", "alias": "Alias-los", "job": "Job-los", "file": "File-los", "site": "los-1.example", "order": "703", "ean": "4000000000042", "pzn": "10000042", "asin": "B000000044", "merchant": "Merchant-los", "brand": "Brand-los", "maker": "Maker-los"}
	nobodys = pairIDs{"item": "9001", "locale": "nl", "alias": "Alias-mis", "job": "Job-mis", "file": "File-mis", "site": "mis-1.example", "order": "901", "ean": "4000000000059", "pzn": "10000059", "asin": "B000000055", "merchant": "Merchant-mis", "brand": "Brand-mis", "maker": "Maker-mis"}
)

// fill returns a request for what w holds.
func (w pairIDs) fill(path, name string) string {
	path = strings.ReplaceAll(path, "{orderId}", w["order"])
	path = strings.ReplaceAll(path, "{itemId}", w["item"])
	for kind, value := range w {
		name = strings.ReplaceAll(name, "{"+kind+"}", value)
	}
	return path + "?" + name
}

// ofTheRequest are members that differ between any two requests.
var ofTheRequest = regexp.MustCompile(`"(request|token|read)":"[^"]*"`)

// hide removes from an answer what the request itself named.
func (w pairIDs) hide(body []byte) string {
	text := ofTheRequest.ReplaceAllString(string(body), `"$1"`)
	for kind, value := range w {
		text = strings.ReplaceAll(text, `"`+value+`"`, `"`+kind+`"`)
	}
	return text
}

// readMatrix returns the world shared by the tests that change nothing in it.
func readMatrix(t testing.TB) *live { t.Helper(); return matrixWorld.Get(t).of(t) }

var matrixWorld = testserver.Shared[*live]{Make: func(t testing.TB) *live { return serveMatrix(t, 3) }}

// serveMatrix writes hidden rows for each pair that mandate 1 does not see. The
// newest are a minute old; the second one is of an hour that is over, so that
// the text of streams is remembered. Later changes must be announced.
func serveMatrix(t testing.TB, hidden int, change ...func(*settings)) *live {
	files := folder(t)
	l := serveLive(t, append(change, func(set *settings) { set.archives = []query.Archive{artifacts{files}} })...)
	l.clock.freeze(l.now) // so that echoed windows are equal
	l.mark()
	for i, w := range []pairIDs{own, ours, theirs, lost} {
		l.exec("INSERT INTO items VALUES (" + w["item"] + ", '" + w["ean"] + "', '" + w["pzn"] + "', '" + w["asin"] + "', '" + w["locale"] + "', 'x', '" + w["brand"] + "', '', 1)")
		l.exec("INSERT INTO sites VALUES ('" + w["site"] + "', 'x', 'shop', 'DE', 'EUR', '', true, false, 1)")
		mandate := uint64([]int{1, 1, 2, 3}[i])
		n := 3
		if mandate != 1 {
			n = hidden
		}
		l.observe(mandate, l.row(fmt.Sprintf("numbers(%d)", n), map[string]string{
			"item": "toUInt64(" + w["item"] + ")", "site": "'" + w["site"] + "'", "seq": fmt.Sprintf("number + %d", i*1_000_000+1),
			"captured_at": fmt.Sprintf("fromUnixTimestamp64Milli(%d - number * 100 - if(number = 1, 5400000, 0), 'UTC')", l.now.Add(-time.Minute).UnixMilli()),
			"merchant":    "'" + w["merchant"] + "'", "manufacturer": "'" + w["maker"] + "'",
		}))
		l.exec(fmt.Sprintf("INSERT INTO reference_prices VALUES (%d, %s, [(100, 'EUR', '', '', '')], 1)", mandate, w["item"]))
		l.exec(fmt.Sprintf("INSERT INTO customer_data VALUES (%d, %s, 'x', {'a': 'b'}, 1)", mandate, w["item"]))
		l.ordered(files, contracts.MandateID(mandate), w, n)
	}
	pair := func(w pairIDs) string {
		return "SELECT toUInt64(" + w["item"] + ") AS item, '" + w["site"] + "' AS site, [toUInt64(" + w["order"] + ")] AS orders"
	}
	l.scope(1, 1, pair(own)+" UNION ALL "+pair(ours))
	l.scope(2, 1, pair(theirs))
	l.scope(3, 1, pair(lost)+" UNION ALL "+pair(ours))
	// Revoked: a new version is in force; the rows are not deleted yet.
	l.exec("INSERT INTO scope_pairs SELECT 3, 2, item, site, orders FROM (" + pair(ours) + ")")
	l.exec("INSERT INTO scopes VALUES (3, 2, 1, 1)")
	l.account(whole, 1, "", "")
	l.account(part, 1, "[702]", "")
	l.account(partSites, 1, "", "['own-2.example']")
	l.account(stranger, 2, "", "")
	l.account(shrunk, 3, "", "")
	l.account(unscoped, 4, "", "")
	const all = "['sites','items','orders','results','files']"
	l.exec("INSERT INTO accounts VALUES (6, 1, 'u6', 'h', false, false, " + all + ", false, [], true, [], 1), (8, 1, 'u8', 'h', true, false, " + all + ", true, [], true, [], 1), (9, 1, 'u9', 'h', false, true, " + all + ", true, [], true, [], 1)")
	l.announced()
	return l
}

// ordered writes the order of w, with n documents in each direction, each of
// one file with the same content.
func (l *live) ordered(files archive.Store, mandate contracts.MandateID, w pairIDs, n int) {
	l.t.Helper()
	l.exec(fmt.Sprintf("INSERT INTO orders (mandate, order_id, alias, name, active, created_at, items, sites, version) VALUES (%d, %s, '%s', 'x', true, '2026-01-15 08:00:00', [%s], ['%s'], 1)",
		mandate, w["order"], w["alias"], w["item"], w["site"]))
	order := must.Get(contracts.ParseID[contracts.OrderID](w["order"]))(l.t)
	content := []byte(contentOf(w))
	for _, d := range []query.Direction{query.Exports, query.Imports} {
		// The first document is the newest, and the one that is downloaded.
		ref := archive.RefOf(archive.Key{Folder: folders[d], Mandate: mandate, Order: order, Archive: 1}, content)
		must.Do(l.t, files.Put(l.t.Context(), ref, bytes.NewReader(content)))
		l.exec(fmt.Sprintf("INSERT INTO file_jobs VALUES (%d, '%s', %d, 1, '%s', '2026-01-15 08:00:00', 1)", mandate, d, order, w["job"]))
		l.exec(fmt.Sprintf(`INSERT INTO file_archives SELECT %d, '%s', %d, number + 1, 1, fromUnixTimestamp64Milli(%d - number * 100, 'UTC'),
			[('%s', '%s.csv', %d, '%s')], 1 FROM numbers(%d)`,
			mandate, d, order, l.now.Add(-time.Minute).UnixMilli(), w["file"], w["file"], ref.Size, ref.SHA256, n))
	}
}

// contentOf returns the content of an order's files.
func contentOf(w pairIDs) string { return "the prices of " + w["order"] }
