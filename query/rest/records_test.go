package rest_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
)

// recordReads are the reads of /ext/v1 that return records, and their columns.
// Each finds some records in the world of the matrix.
func recordReads(captured time.Time) map[string][]frame.Column {
	at := url.QueryEscape(captured.Format(time.RFC3339Nano))
	since := url.QueryEscape(captured.Add(-150 * time.Millisecond).Format(time.RFC3339Nano)) // between the captures of a pair
	until := url.QueryEscape(captured.Add(time.Second).Format(time.RFC3339Nano))
	zone := "&timezone=Europe/Berlin"
	return map[string][]frame.Column{
		"/ext/v1/statistics?orderId=701&by=product&bucket=day" + zone:                                       query.RecordColumns[query.StatisticRecord](),
		"/ext/v1/statistics?orderId=701&includeTrend=true&includeStanding=true&includeIdentity=true" + zone: query.RecordColumns[query.StatisticRecord](),
		"/ext/v1/statistics?globalScope=true&limit=1&capturedFrom=" + since + "&capturedTo=" + until + zone: query.RecordColumns[query.StatisticRecord](),
		"/ext/v1/position?" + zone[1:]:                                            query.RecordColumns[query.OwnPosition](),
		"/ext/v1/movers?since=" + since + zone:                                    query.RecordColumns[query.Mover](),
		"/ext/v1/windows?capturedFrom=2026-01-01" + zone:                          query.RecordColumns[query.WindowRecord](),
		"/ext/v1/evidence?itemId=1001&site=own-1.example&capturedAt=" + at + zone: query.RecordColumns[query.Evidence](),
		"/ext/v1/sites/status?" + zone[1:]:                                        query.RecordColumns[query.SiteStatus](),
		"/ext/v1/orders/status?" + zone[1:]:                                       query.RecordColumns[query.OrderStatus](),
		"/ext/v1/orders/status?files=2" + zone:                                    query.RecordColumns[query.OrderStatus](),
		"/ext/v1/overview?since=" + since + zone:                                  query.RecordColumns[query.OverviewList](),
		"/ext/v1/items/1001/summary?" + zone[1:]:                                  query.RecordColumns[query.ItemMarket](),
		"/ext/v1/lookup?" + zone[1:]:                                              query.LookupColumns(),
	}
}

// Each read of records returns the same ones in every form, cell by cell: null
// and absent distinct, lists within lists, and what JSON has around them in
// headers.
func TestRecordForms(t *testing.T) {
	t.Parallel()
	l := serveMatrix(t, 3)
	zone := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	captured := l.now.Add(-time.Minute).Truncate(contracts.Resolution)
	reads := recordReads(captured)
	for path, columns := range l.feedReads() {
		reads[path] = columns
	}
	// The newest capture is cheaper and has no merchant; that of another pair
	// has one.
	for i, w := range []pairIDs{own, ours} {
		l.observe(1, l.row("numbers(1)", map[string]string{
			"item": "toUInt64(" + w["item"] + ")", "site": "'" + w["site"] + "'", "seq": fmt.Sprint(liveMark + 1 + i), "merchant": []string{"''", "'=Shop'"}[i],
			"price_minor": "toInt64(99)", "captured_at": fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", captured.Add(time.Second).UnixMilli()),
		}))
	}
	l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), uint64(liveMark+100))
	ask := func(path, media string) answer {
		if strings.HasPrefix(path, "/ext/v1/lookup") {
			r := l.request("POST", path, l.token(whole), strings.NewReader(fmt.Sprintf(`{"pzns":["%s"],"itemIds":["9001","%s"],"asins":[{"asin":"%s","asinLocale":"%s"}]}`, own["pzn"], ours["item"], own["asin"], own["locale"])))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", media)
			return l.do(r)
		}
		r := l.request("GET", path, l.token(whole), nil)
		r.Header.Set("Accept", media)
		return l.do(r)
	}
	for p, path := range slices.Sorted(maps.Keys(reads)) {
		columns := reads[path]
		a := ask(path, jsonMedia)
		want := decode[page](t, a)
		if strings.HasPrefix(path, "/ext/v1/explain") { // is its own record
			want.Data = []map[string]any{decode[map[string]any](t, a)}
		}
		unsealed(want.Data)
		delete(want.Query, "token")
		if len(want.Data) == 0 {
			t.Errorf("%s: no records", path)
		}
		for i, media := range tables {
			if every := effort.Often(3, 1); i%every != p%every {
				continue
			}
			a := ask(path, media)
			got := a.records(t, columns, zone)
			if want.Progress.Token != "" {
				got = a.wantProgress(t, path, got, want.Progress)
			}
			unsealed(got)
			if diff := cmp.Diff(want.Data, got); diff != "" {
				t.Errorf("%s as %s (-want +got): %s", path, media, diff)
				continue
			}
			if want.Query != nil {
				a.Header.Set("X-Results-Query", ofToken.ReplaceAllString(a.Header.Get("X-Results-Query"), ""))
				l.wantAround(t, a, path, want)
			}
		}
	}
}

// records decodes the records of an answer of /ext/v1.
func (a answer) records(t *testing.T, columns []frame.Column, zone *time.Location) (records []tabletest.Record) {
	t.Helper()
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	var err error
	switch media {
	case csvMedia:
		records, err = tabletest.Cells(a.body, query.Flat(columns))
	case parquetMedia:
		records, err = tabletest.Columns(a.body, columns, zone)
	default:
		return a.reread(t, nil, zone)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%q", media, err, a.body)
	}
	return records
}

// unsealed removes cursors, which differ each time.
func unsealed(records []tabletest.Record) {
	for _, r := range records {
		if again, ok := r["again"].(string); ok {
			r["again"] = ofCursor.ReplaceAllString(again, "cursor")
		}
	}
}

var ofCursor, ofToken = regexp.MustCompile("cursor=[^&]*"), regexp.MustCompile(`,"token":"[^"]*"`)

// TestQueryHeader: what surrounds the records in JSON reaches every client and
// passes every proxy as a header: ASCII, and never long.
func TestQueryHeader(t *testing.T) {
	s := serve(t)
	const name = "Müller Öl \u007f 💊"
	s.store.items[0].Name = name
	now := time.Now()
	for i := range 100 {
		at := row{item: 11, site: contracts.SiteKey(fmt.Sprintf("shop-of-the-market-%03d", i)), captured: now.Add(-12 * time.Hour), price: 1_000, seq: uint64(100 + i)}
		s.store.sites = append(s.store.sites, contracts.Site{Site: at.site, SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"})
		s.store.rows = append(s.store.rows, at)
		at.captured, at.price, at.seq = now.Add(-time.Hour), 900, at.seq+1_000
		s.store.rows = append(s.store.rows, at)
	}
	reads := map[string]string{ // and a member that the header has or leaves out
		"/ext/v1/items/11/summary?" + lastMonth():                                            "name",
		"/ext/v1/movers?itemId=11&since=" + now.Add(-6*time.Hour).UTC().Format(time.RFC3339): "sites",
	}
	for path, member := range reads {
		want := decode[page](t, s.getAs(path, jsonMedia)).Query
		if member == "sites" {
			if sites, ok := want[member].([]any); !ok || len(sites) < 100 {
				t.Fatalf("%s: %v", path, want)
			}
			delete(want, member)
		}
		for _, media := range tables {
			a := s.getAs(path, media).want(t, 200)
			header := a.Header.Get("X-Results-Query")
			got := decode[map[string]any](t, answer{body: []byte(header)})
			if strings.ContainsFunc(header, func(r rune) bool { return r < 0x20 || r > 0x7e }) || len(header) > 3<<10 {
				t.Errorf("%s as %s: %d bytes, %.300q", path, media, len(header), header)
			}
			if member == "name" && got[member] != name {
				t.Errorf("%s: %s is %q", path, member, got[member])
			}
			for _, moment := range []string{"asOf", "currentFrom", "until", "capturedTo"} {
				delete(got, moment)
				delete(want, moment)
			}
			equals.Checkf(t, want, got, "%s as %s", path, media)
		}
	}
}
